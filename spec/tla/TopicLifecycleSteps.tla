------------------------ MODULE TopicLifecycleSteps -------------------------
(* What each party of `TopicLifecycle` may change in one step. A decision is *)
(* judged by what it would do if it were written at once.                    *)
EXTENDS TopicLifecycle

HasTopic == Exists(znodes, TopicPath)
HasState == Exists(znodes, StatePath)
OnlyChanged(before, after, paths) == \A path \in Paths \ paths : after[path] = before[path]

WriteOf(decision) == DecisionCheck(decision) \o <<DecisionWrite(decision)>>

(* A controller decides for a topic that exists: a first state where there is*)
(* none, of the incarnation that it knows, or another assignment. Written    *)
(* later, both are refused without the topic's id, and the state where there *)
(* is one.                                                                   *)
\* @req CTL-011
\* @req TOP-001
\* @req TOP-003
DecisionsAreSteps ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        now.decision = <<>> /\ next.decision # <<>> =>
            LET decision == next.decision[1]
                ops == WriteOf(decision)
                written == Apply(ops, 0)
            IN /\ IsActive(c) /\ HasTopic
               /\ written.ok
               /\ ~Multi([znodes EXCEPT ![TopicIdPaths[CurrentIncarnation]] = Absent], ops, 0).ok
               /\ decision.incarnation = CurrentIncarnation
               /\ IF decision.write = "state"
                  THEN /\ ~HasState
                       /\ OnlyChanged(znodes, written.tree, {StatePath})
                       /\ written.tree[StatePath].data.isr = Brokers
                       /\ written.tree[StatePath].data.leader = decision.leader
                       /\ ~Multi(written.tree, ops, 0).ok
                       /\ now.known = CurrentIncarnation
                       /\ now.is_initialising
                       /\ next = [now EXCEPT !.decision = next.decision, !.is_initialising = FALSE]
                       /\ UNCHANGED budget
                  ELSE /\ OnlyChanged(znodes, written.tree, {TopicPath})
                       /\ next = [now EXCEPT !.decision = next.decision]
                       /\ budget'["reassignments"] < budget["reassignments"]
               /\ UNCHANGED <<znodes, replicas, messages, committed, obeyed>>]_vars

(* What was decided is written as it is by the controller of the present     *)
(* epoch, and by no other.                                                   *)
\* @req ZK-005
DecisionsAreWritten ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        now.decision # <<>> /\ next.decision = <<>> /\ next.controller_epoch # Standing =>
            LET written == Apply(WriteOf(now.decision[1]), Limits["topics"] + 1)
            IN /\ znodes' = IF IsDeposed(c) THEN znodes ELSE written.tree
               /\ next = [now EXCEPT !.decision = <<>>]
               /\ UNCHANGED <<replicas, messages, committed, budget, obeyed>>]_vars

(* A term begins with the next epoch. A controller that finds another topic  *)
(* than it knew is to initialise that, and has sent what it does not have to *)
(* send any more.                                                            *)
\* @req CTL-005
\* @req TOP-003
\* @req CMD-007
TermsBegin ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        /\ now.controller_epoch = Standing /\ next # now =>
            /\ CurrentControllerEpoch' = CurrentControllerEpoch + 1
            /\ OnlyChanged(znodes, znodes', {ControllerEpochPath})
            /\ (\E other \in Controllers : controllers[other].controller_epoch = CurrentControllerEpoch)
                <=> budget' # budget
        /\ next.controller_epoch = now.controller_epoch /\ next.known # now.known =>
            next = [now EXCEPT !.known = CurrentIncarnation, !.to_stop = next.to_stop,
                               !.is_initialising = CurrentIncarnation # NoIncarnation]
        /\ next.to_stop # now.to_stop /\ next.controller_epoch # Standing =>
            next.to_stop = {} \/ next.to_stop = now.to_stop \cup {now.known}
        /\ next.is_initialising # now.is_initialising =>
            \/ next.known # now.known
            \/ next.controller_epoch # now.controller_epoch
            \/ ~next.is_initialising /\ next.decision # <<>>]_vars

(* Administrators create a topic with its id, and delete it with all that is *)
(* under it; nothing else ends it.                                           *)
\* @req TOP-002
\* @req TOP-003
AdministratorsAsk ==
    [][/\ budget'["topics"] < budget["topics"] =>
            /\ ~HasTopic /\ HasTopic'
            /\ CurrentIncarnation' = Created + 1
            /\ Exists(znodes', TopicIdPaths[Created + 1])
            /\ OnlyChanged(znodes, znodes', {TopicPath, TopicIdPaths[Created + 1]})
            /\ UNCHANGED <<controllers, replicas, messages, committed, obeyed>>
       /\ HasTopic /\ ~HasTopic' =>
            /\ ~HasState' /\ ~Exists(znodes', TopicIdPaths[CurrentIncarnation])
            /\ OnlyChanged(znodes, znodes', {TopicPath, StatePath, TopicIdPaths[CurrentIncarnation]})
            /\ UNCHANGED <<controllers, replicas, messages, committed, budget, obeyed>>]_vars

(* A leader that drops a member from the ISR knows what it wrote.            *)
\* @req ISR-001
LeadersChangeIsr ==
    [][(HasState /\ HasState' /\ State' # State) => LET l == State.leader isr == State'.isr IN
        /\ replicas' = [replicas EXCEPT
                        ![l].isr = isr, ![l].znode_version = znodes[StatePath].version + 1]
        /\ replicas[l].incarnation = CurrentIncarnation
        /\ \E f \in Brokers \ {l} : isr = State.isr \ {f} /\ isr # State.isr
        /\ OnlyChanged(znodes, znodes', {StatePath})
        /\ budget'["isr_changes"] < budget["isr_changes"]]_vars

(* Records are committed once, by a leader; of the topic that exists, when   *)
(* all of the ISR that ZooKeeper holds have them.                            *)
\* @req REPL-002
CommitsAreReplicated ==
    [][committed' # committed => \E l \in Brokers : LET incarnation == replicas[l].incarnation IN
        /\ IsLeading(l)
        /\ committed' = committed \cup {incarnation}
        /\ replicas[l].record = incarnation
        /\ HasState /\ incarnation = CurrentIncarnation => \A f \in State.isr :
            replicas[f].incarnation = incarnation /\ replicas[f].record = incarnation
        /\ UNCHANGED <<znodes, controllers, replicas, messages, budget, obeyed>>]_vars

(* A message that comes to a process that runs is obeyed; the others are     *)
(* lost. What a process was told ends with it, and its directory does not.   *)
\* @req START-004
\* @req CMD-008
ReplicasChange ==
    [][/\ messages \ messages' # {} => \E m \in messages :
            messages' = messages \ {m} /\ UNCHANGED <<znodes, controllers, committed, budget>>
       /\ \A b \in Brokers : LET now == replicas[b] next == replicas'[b]
                                 is_kept == next.incarnation = now.incarnation /\ next.record = now.record
           IN /\ now.is_up /\ ~next.is_up => is_kept /\ budget'["crashes"] < budget["crashes"]
              /\ ~now.is_up /\ next.is_up =>
                   /\ next.leader = NoBroker
                   /\ IF now.incarnation = CurrentIncarnation THEN is_kept
                      ELSE next.incarnation = NoIncarnation /\ next.record = NoIncarnation
              /\ ~now.is_up /\ ~next.is_up => next = now
              /\ next.is_up /\ obeyed'[b] # obeyed[b] => obeyed'[b] \in {NoIncarnation, next.incarnation}
              /\ messages' # messages /\ now.is_up /\ next # now => \E m \in messages \ messages' :
                   /\ m.to = b
                   /\ m.type = "stop_replica" =>
                       /\ next.oldest = (IF now.oldest > m.incarnation THEN now.oldest
                                         ELSE m.incarnation + 1)
                       /\ now.incarnation > m.incarnation => next = [now EXCEPT !.oldest = next.oldest]
                   /\ m.type = "init" =>
                       /\ now.incarnation > m.zxid \/ now.incarnation = m.incarnation =>
                           next = [now EXCEPT !.oldest = next.oldest]
                       /\ next.oldest \in {now.oldest, m.incarnation, m.zxid + 1}
                   /\ m.type = "leader_and_isr" =>
                       /\ m.incarnation >= now.oldest
                       /\ now.incarnation = m.incarnation => next.record = now.record
                       /\ next.oldest = m.incarnation \/ next.oldest = now.oldest
                       /\ next.oldest >= m.incarnation
              /\ (/\ now.is_up /\ next.is_up
                  /\ next # now
                  /\ UNCHANGED <<messages, znodes>>) =>
                   /\ next = [now EXCEPT !.record = now.incarnation]
                   /\ now.record = NoIncarnation /\ now.leader # NoBroker]_vars
=============================================================================
