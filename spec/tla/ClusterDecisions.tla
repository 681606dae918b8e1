-------------------------- MODULE ClusterDecisions --------------------------
(* What administrators, controllers and leaders of `Cluster` may write. A    *)
(* decision is judged when it is made, by what it would do if it were written*)
(* at once, and by what must not have changed when it is.                    *)
EXTENDS ClusterSteps

OnlyChanged(before, after, paths) == \A path \in Paths \ paths : after[path] = before[path]
StateIn(tree, p) == tree[StatePaths[p]].data
TopicIn(tree) == tree[TopicPath].data
IsRequestIn(tree) == Exists(tree, RequestPath)
AreStatesKept(tree, partitions) ==
    \A p \in partitions : tree[StatePaths[p]] = znodes[StatePaths[p]]

(* What a decision is about, without the checks that fence its author.       *)
Body(decision) ==
    IdCheck(decision.incarnation) \o RequestOps(decision)
        \o StateOps(decision) \o TopicOps(decision)
Fenced(c, decision) == Multi(znodes, Fence(c) \o Body(decision), 0)

(* The members of the ISR that are for the controller what joined it.        *)
StillMembers(c, p) ==
    {member \in State(p).isr : controllers[c].view[member.broker] = member.broker_epoch}
Living(c, ids) == {b \in ids : controllers[c].view[b] # Unregistered}

(* The first state names all that live, and one of them as leader.           *)
IsFirstDecision(c, tree) ==
    LET due == {p \in Partitions : ~HasState(p) /\ Living(c, Topic.assigned[p]) # {}}
    IN /\ due # {}
       /\ AreStatesKept(tree, Partitions \ due)
       /\ OnlyChanged(znodes, tree, {StatePaths[p] : p \in due})
       /\ \A p \in due : LET s == StateIn(tree, p) IN
            /\ s.leader_epoch = 0
            /\ s.isr = {Member(b, controllers[c].view[b]) : b \in Living(c, Topic.assigned[p])}
            /\ s.leader \in MemberIds(s.isr)
            /\ s.controller_epoch = controllers[c].controller_epoch

(* A failover decides on each partition that has lost a member or its leader,*)
(* and on no other. Where no member is left it waits with its ISR.           *)
HasFailed(c, p) ==
    /\ HasState(p)
    /\ StillMembers(c, p) # State(p).isr
    /\ StillMembers(c, p) # {} \/ State(p).leader # NoBroker
IsWaitingFor(c, p) == HasState(p) /\ State(p).leader = NoBroker /\ StillMembers(c, p) # {}

IsFailover(c, tree) ==
    LET due == {p \in Partitions : HasFailed(c, p) \/ IsWaitingFor(c, p)}
    IN /\ due # {}
       /\ OnlyChanged(znodes, tree, {StatePaths[p] : p \in due})
       /\ budget'["elections"] < budget["elections"]
       /\ \A p \in due : LET s == StateIn(tree, p) IN
            /\ s.leader_epoch = State(p).leader_epoch + 1
            /\ s.isr = (IF StillMembers(c, p) = {} THEN State(p).isr ELSE StillMembers(c, p))
            /\ s.leader \in (CASE State(p).leader \in MemberIds(StillMembers(c, p)) -> {State(p).leader}
                               [] StillMembers(c, p) # {} -> MemberIds(s.isr)
                               [] OTHER -> {NoBroker})
            /\ s.controller_epoch = controllers[c].controller_epoch

Wanted(p) == IF IsRequested /\ Request.partition = p THEN Request.target
             ELSE Topic.assigned[p] \ Topic.adding[p]
Beside(p) == (Topic.assigned[p] \ Topic.adding[p]) \cup Wanted(p)

(* A partition moves by one step: what is wanted is assigned beside what was *)
(* there before, or alone when all of it is in sync.                         *)
IsStepOfMove(c, p, tree) ==
    LET t == TopicIn(tree)
        s == StateIn(tree, p)
    IN /\ HasState(p) /\ State(p).leader # NoBroker /\ StillMembers(c, p) = State(p).isr
       /\ OnlyChanged(znodes, tree, {TopicPath, StatePaths[p]})
       /\ t.assigned[p] # Topic.assigned[p] \/ t.adding[p] # Topic.adding[p]
       /\ IF Topic.assigned[p] # Beside(p)
          THEN t.assigned[p] = Beside(p) /\ t.adding[p] = Wanted(p) \ Settled(p)
          ELSE /\ Wanted(p) \subseteq MemberIds(State(p).isr)
               /\ t.assigned[p] = Wanted(p)
               /\ t.adding[p] = {}
       /\ t = [Topic EXCEPT !.assigned[p] = t.assigned[p], !.adding[p] = t.adding[p],
                            !.removing[p] = (@ \cup Topic.assigned[p]) \ t.assigned[p]]
       /\ s.leader_epoch = State(p).leader_epoch + 1
       /\ s.isr = {member \in State(p).isr : member.broker \in t.assigned[p]}
       /\ s.leader \in MemberIds(s.isr)
       /\ State(p).leader \in MemberIds(s.isr) => s.leader = State(p).leader
       /\ s.controller_epoch = controllers[c].controller_epoch

(* A move is over: nothing is left to be stopped, and the request goes.      *)
IsEndOfMove(c, p, tree) ==
    LET is_asked == IsRequested /\ Request.partition = p
    IN /\ OnlyChanged(znodes, tree, {TopicPath, RequestPath})
       /\ Topic.assigned[p] = Wanted(p) /\ Topic.adding[p] = {}
       /\ Topic.removing[p] = {} \/ controllers[c].is_stop_sent
       /\ is_asked \/ Topic.removing[p] # {}
       /\ TopicIn(tree) = [Topic EXCEPT !.removing[p] = {}]
       /\ IF is_asked THEN ~IsRequestIn(tree) ELSE tree[RequestPath] = znodes[RequestPath]

Later(path) == [znodes EXCEPT ![path].version = @ + 1]
Without(path) == [znodes EXCEPT ![path] = Absent]

(* A controller decides one step for what it has read, and the write holds   *)
(* if that is still so: states, topic, request, and its own office.          *)
\* @req FAIL-001
\* @req FAIL-003
\* @req REAS-001
\* @req REAS-005
\* @req ZK-003
\* @req ZK-005
DecisionsAreSteps ==
    [][\A c \in Controllers : controllers[c].decision = <<>> /\ controllers'[c].decision # <<>> =>
        LET decision == controllers'[c].decision[1]
            ops == Body(decision)
            written == Multi(znodes, ops, 0)
            tree == written.tree
        IN /\ IsActive(c) /\ controllers[c].topic = CurrentTopic /\ written.ok
           /\ Fenced(c, decision).ok <=> InOffice(c)
           /\ \/ IsFirstDecision(c, tree)
              \/ IsFailover(c, tree)
              \/ \E p \in Partitions : IsStepOfMove(c, p, tree) \/ IsEndOfMove(c, p, tree)
           /\ ~Multi(Without(TopicIdPaths[CurrentTopic]), ops, 0).ok
           /\ \A p \in Partitions : HasState(p) /\ tree[StatePaths[p]] # znodes[StatePaths[p]] =>
                ~Multi(Later(StatePaths[p]), ops, 0).ok
           /\ tree[TopicPath] # znodes[TopicPath] =>
                /\ ~Multi(Later(TopicPath), ops, 0).ok
                /\ IsRequested => ~Multi(Without(RequestPath), ops, 0).ok
           /\ controllers' = [controllers EXCEPT ![c].decision = controllers'[c].decision]
           /\ UNCHANGED <<zookeeper_vars, broker_vars, network_vars, history_vars>>]_vars

(* What was decided is written as it is. What is there then is to be told,   *)
(* whether its author hears of it or finds it, and what was to be told before*)
(* stays so where nothing later is.                                          *)
\* @req FAIL-006
\* @req ZK-006
DecisionsAreWritten ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        /\ now.decision # <<>> /\ next.decision = <<>> /\ next.status = "active" =>
            LET decision == now.decision[1] IN
            /\ znodes' = IF now.is_reply_lost THEN znodes ELSE Fenced(c, decision).tree
            /\ next = [now EXCEPT !.decision = <<>>, !.is_reply_lost = FALSE,
                                  !.to_tell = next.to_tell,
                                  !.is_stop_sent = @ /\ decision.topic = <<>>]
            /\ \A told \in next.to_tell \ now.to_tell :
                HasState(told.partition)' /\ told = Present(told.partition)'
            /\ \A told \in now.to_tell \ next.to_tell :
                \E later \in next.to_tell : later.partition = told.partition
            /\ \A write \in decision.states :
                LET path == StatePaths[write.partition]
                IN (/\ now.is_reply_lost \/ znodes'[path] # znodes[path]
                    /\ znodes'[path].version = write.version + 1
                    /\ znodes'[path].data = write.state) => Present(write.partition)' \in next.to_tell
        /\ next.is_reply_lost /\ ~now.is_reply_lost =>
            /\ next = [now EXCEPT !.is_reply_lost = TRUE]
            /\ Fenced(c, now.decision[1]).ok
            /\ znodes' = Fenced(c, now.decision[1]).tree]_vars

(* What is to be told is sent: to each broker that is assigned and lives,    *)
(* unless it names a leader that has failed. Stops count as sent when they   *)
(* were, to each replica that is to go.                                      *)
\* @req FAIL-006
\* @req FAIL-008
\* @req REAS-001
WhatIsDueIsSent ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        (IsActive(c) /\ next.status = "active") =>
            /\ (/\ now.to_tell # {} /\ next.to_tell = {}
                /\ next.topic = now.topic /\ next.view = now.view) =>
                /\ next = [now EXCEPT !.to_tell = {}]
                /\ now.topic = CurrentTopic
                /\ \A told \in now.to_tell : \A b \in Living(c, Topic.assigned[told.partition]) :
                    (\/ told.state.leader = NoBroker
                     \/ Member(told.state.leader, now.view[told.state.leader]) \in told.state.isr) =>
                        \E m \in messages' : m.type = "leader_and_isr" /\ m.to = b
                            /\ m.partition = told.partition /\ m.version = told.version
                            /\ m.leader = told.state.leader /\ m.isr = told.state.isr
                            /\ m.incarnation = now.topic
                            /\ m.controller_epoch = now.controller_epoch
            /\ next.is_stop_sent /\ ~now.is_stop_sent =>
                /\ next = [now EXCEPT !.is_stop_sent = TRUE]
                /\ now.decision = <<>>
                /\ \E p \in Partitions : Topic.removing[p] # {}
                /\ \A p \in Partitions : HasState(p) => \A b \in Living(c, Topic.removing[p]) :
                    \E m \in messages' : m.type = "stop_replica" /\ m.to = b /\ m.partition = p
                        /\ m.incarnation = CurrentTopic /\ m.leader_epoch = State(p).leader_epoch
            /\ next.view # now.view =>
                next.to_tell = (IF \E b \in Brokers : next.view[b] \notin {now.view[b], Unregistered}
                                THEN {Present(p) : p \in {p \in Partitions : HasState(p)}}
                                ELSE now.to_tell)]_vars

(* Administrators create and delete a topic as a whole, ask for other        *)
(* replicas than there are, and take a request back: then the topic znode    *)
(* has another version, and says the same. Sessions end one at a time, and   *)
(* no controller epoch is known that neither ZooKeeper nor a command told.   *)
\* @req TOP-003
\* @req REAS-004
\* @req CTL-006
AdministratorsAsk ==
    [][/\ budget'["topics"] < budget["topics"] =>
            /\ ~HasTopic /\ HasTopic'
            /\ Topic' = NewTopic(CurrentTopic')
            /\ OnlyChanged(znodes, znodes', {TopicPath, TopicIdPaths[CurrentTopic']})
            /\ Exists(znodes', TopicIdPaths[CurrentTopic'])
            /\ ~Exists(znodes, TopicIdPaths[CurrentTopic'])
            /\ \A entry \in held : entry.record.incarnation < CurrentTopic'
       /\ budget'["deletions"] < budget["deletions"] =>
            /\ HasTopic /\ ~HasTopic'
            /\ ~Exists(znodes', TopicIdPaths[CurrentTopic])
            /\ ~Exists(znodes', RequestPath)
            /\ \A p \in Partitions : ~HasState(p)'
            /\ OnlyChanged(znodes, znodes', {TopicPath, TopicIdPaths[CurrentTopic], RequestPath}
                                            \cup {StatePaths[p] : p \in Partitions})
       /\ budget'["requests"] < budget["requests"] =>
            /\ ~IsRequested /\ IsRequested'
            /\ Request'.target \in Targets
            /\ Request'.target # Topic.assigned[Request'.partition]
            /\ OnlyChanged(znodes, znodes', {RequestPath})
       /\ budget'["cancellations"] < budget["cancellations"] =>
            /\ IsRequested /\ ~IsRequested'
            /\ Topic' = Topic /\ TopicVersion' = TopicVersion + 1
            /\ OnlyChanged(znodes, znodes', {RequestPath, TopicPath})
       /\ \A b \in Brokers : Registrations[b] # Unregistered /\ Registrations'[b] # Registrations[b] =>
            /\ ~Exists(znodes', BrokerPaths[b])
            /\ OnlyChanged(znodes, znodes', {BrokerPaths[b]})
            /\ brokers[b].is_up <=> budget'["expiries"] < budget["expiries"]
            /\ UNCHANGED <<controllers, broker_vars, network_vars>>
       /\ Exists(znodes, ControllerPath) /\ ~Exists(znodes', ControllerPath) =>
            /\ OnlyChanged(znodes, znodes', {ControllerPath})
            /\ budget'["controller_expiries"] < budget["controller_expiries"]
       /\ \A b \in Brokers : brokers'[b].controller_epoch > brokers[b].controller_epoch =>
            \/ brokers'[b].controller_epoch = znodes[ControllerEpochPath].data
            \/ \E m \in messages \ messages' :
                m.to = b /\ m.controller_epoch = brokers'[b].controller_epoch
       /\ \A b \in Brokers : brokers'[b].is_up # brokers[b].is_up =>
            brokers'[b].is_up \/ budget'["crashes"] < budget["crashes"]]_vars

(* A leader asks for one member more, that has caught up as the incarnation  *)
(* which fetched and is assigned, or for one less, not itself. It stops when *)
(* the state is another than it knows, and keeps what it knows till then.    *)
\* @req ISR-001
\* @req ISR-002
\* @req ISR-004
LeadersChangeIsr ==
    [][\A l \in Brokers, p \in Partitions : LET now == replicas[l][p] next == replicas'[l][p] IN
        /\ now.pending_isr = <<>> /\ next.pending_isr # <<>> =>
            /\ next = [now EXCEPT !.pending_isr = next.pending_isr]
            /\ budget'["isr_changes"] < budget["isr_changes"]
            /\ \E f \in Brokers \ {l} : LET reached == logs[l][p].end_offsets[f] IN
                \/ next.pending_isr[1] = {member \in now.isr : member.broker # f}
                    /\ next.pending_isr[1] # now.isr
                \/ /\ f \notin MemberIds(now.isr)
                   /\ next.pending_isr[1] = now.isr \cup {Member(f, reached.broker_epoch)}
                   /\ reached.offset >= logs[l][p].high_watermark
                   /\ reached.offset >= logs[l][p].epoch_start
                   /\ HasTopic /\ f \in Topic.assigned[p]
        /\ now.role = "leader" /\ next.role = "fenced" =>
            /\ next = [now EXCEPT !.role = "fenced", !.pending_isr = <<>>, !.is_reply_lost = FALSE]
            /\ now.pending_isr # <<>>
            /\ now.version # StateVersion(p) \/ now.incarnation # CurrentTopic
            /\ now.incarnation = CurrentTopic /\ now.version + 1 = StateVersion(p) =>
                \/ State(p).leader # l \/ State(p).leader_epoch # now.leader_epoch
                \/ State(p).isr # now.pending_isr[1]
        /\ now.pending_isr # <<>> /\ next.pending_isr = <<>> /\ next.role = "leader"
                /\ next.leader_epoch = now.leader_epoch /\ next.incarnation = now.incarnation =>
            next = [now EXCEPT !.isr = now.pending_isr[1], !.version = @ + 1, !.pending_isr = <<>>,
                               !.is_reply_lost = FALSE]]_vars
=============================================================================
