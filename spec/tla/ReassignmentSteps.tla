------------------------- MODULE ReassignmentSteps --------------------------
(* What each party of `Reassignment` may change in one step. A decision is   *)
(* judged by what it would do if it were written at once, and by what must   *)
(* not have changed when it is.                                              *)
EXTENDS Reassignment

StateIn(tree) == tree[StatePath].data
TopicIn(tree) == tree[TopicPath].data
Wanted == IF IsRequested THEN znodes[ReassignmentPath].data.replicas ELSE Settled

OnlyChanged(paths) == \A path \in Paths \ paths : znodes'[path] = znodes[path]

(* The next leader epoch, and the leader of before while it is a member.     *)
IsNextState(next) ==
    /\ next.leader_epoch = State.leader_epoch + 1
    /\ next.leader \in next.isr
    /\ State.leader \in next.isr => next.leader = State.leader

(* A member that is up leads in place of a leader that is down.              *)
IsElection(tree) ==
    /\ TopicIn(tree) = Topic
    /\ Exists(tree, ReassignmentPath) = IsRequested
    /\ ~replicas[State.leader].is_up
    /\ replicas[StateIn(tree).leader].is_up
    /\ StateIn(tree).leader \in State.isr
    /\ StateIn(tree) = [State EXCEPT !.leader = StateIn(tree).leader, !.leader_epoch = @ + 1]

(* What is wanted is assigned beside what was assigned before this move, or  *)
(* in its place when all of it is in sync. What goes is to be stopped.        *)
IsStepOfMove(tree) ==
    LET t == TopicIn(tree)
        beside == Settled \cup Wanted
    IN /\ IsNextState(StateIn(tree))
       /\ Exists(tree, ReassignmentPath) = IsRequested
       /\ t.partitions = Topic.partitions
       /\ t.removing = (Topic.removing \cup Topic.assigned) \ t.assigned
       /\ IF Topic.assigned # beside
          THEN /\ t.assigned = beside
               /\ t.adding = Wanted \ Settled
               /\ StateIn(tree).isr = State.isr \cap beside
          ELSE /\ Wanted \subseteq State.isr
               /\ t.assigned = Wanted
               /\ t.adding = {}
               /\ StateIn(tree).isr = Wanted
               /\ Topic.assigned # Wanted \/ Topic.adding # {}

(* The move is over: nothing is left to be stopped, and no request.          *)
IsEnd(c, tree) ==
    /\ Topic.assigned = Wanted
    /\ Topic.adding = {}
    /\ Topic.removing = {} \/ controllers[c].is_stop_sent
    /\ TopicIn(tree) = [Topic EXCEPT !.removing = {}]
    /\ tree[StatePath] = znodes[StatePath]
    /\ ~Exists(tree, ReassignmentPath)
    /\ IsRequested \/ Topic.removing # {}

WithVersion(path, version) == [znodes EXCEPT ![path].version = version]
IsRefusedAfter(ops, path) == ~Multi(WithVersion(path, znodes[path].version + 1), ops, 0).ok
IsRefusedWithout(ops, path) == ~Multi([znodes EXCEPT ![path] = Absent], ops, 0).ok

(* A controller in office decides one step, on what is there: what its write *)
(* replaces, and the request that it walks to, are as they were when it is   *)
(* written.                                                                  *)
\* @req REAS-001
\* @req REAS-005
\* @req FAIL-004
\* @req ZK-003
DecisionsAreSteps ==
    [][\A c \in Controllers : LET ops == controllers'[c].decision IN
        controllers[c].decision = <<>> /\ ops # <<>> =>
            /\ controllers[c].controller_epoch = CurrentControllerEpoch
            /\ Multi(znodes, ops, 0).ok
            /\ LET tree == Multi(znodes, ops, 0).tree
               IN /\ \/ IsElection(tree)
                     \/ IsStepOfMove(tree)
                     \/ IsEnd(c, tree)
                  /\ StateIn(tree) # State => IsRefusedAfter(ops, StatePath)
                  /\ tree[TopicPath].version # TopicVersion =>
                        /\ IsRefusedAfter(ops, TopicPath)
                        /\ IsRequested => /\ IsRefusedAfter(ops, ReassignmentPath)
                                          /\ IsRefusedWithout(ops, ReassignmentPath)
            /\ UNCHANGED <<znodes, replicas, messages, requested, budget>>]_vars

(* What was decided is written as it is by the controller of the present     *)
(* epoch, and by no other. Once more is sent what was sent before it.        *)
\* @req ZK-005
DecisionsAreWritten ==
    [][/\ znodes'[TopicPath].data.partitions # Topic.partitions => \E c \in Controllers :
            controllers[c].addition # <<>> /\ controllers'[c].addition = <<>>
       /\ \A c \in Controllers :
            LET now == controllers[c] next == controllers'[c]
                ops == IF next.decision = <<>> THEN now.decision ELSE <<>>
                more == IF next.addition = <<>> THEN now.addition ELSE <<>>
                all == ops \o more
            IN /\ all # <<>> /\ next.controller_epoch # Standing =>
                    /\ znodes' = IF IsDeposed(c) THEN znodes ELSE Multi(znodes, all, 0).tree
                    /\ ops # <<>> => ~next.is_stop_sent
                    /\ more # <<>> => next.is_stop_sent = now.is_stop_sent
                    /\ UNCHANGED <<replicas, messages, requested, budget>>
               /\ next.addition # <<>> /\ now.addition = <<>> =>
                    /\ now.controller_epoch = CurrentControllerEpoch
                    /\ Multi(znodes, next.addition, 0).tree =
                        [znodes EXCEPT ![TopicPath].data.partitions = @ + 1, ![TopicPath].version = @ + 1]
                    /\ IsRefusedAfter(next.addition, TopicPath)]_vars

(* A term begins with the next epoch, and nothing else is known then. Stops  *)
(* count as sent when they were, to each replica that is to go, and are not  *)
(* sent again while they do.                                                 *)
\* @req CTL-005
\* @req CTL-008
\* @req REAS-001
TermsBegin ==
    [][/\ (\E m \in messages' \ messages : m.type = "stop_replica") => \E c \in Controllers :
            controllers'[c].is_stop_sent /\ ~controllers[c].is_stop_sent
       /\ \A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
            /\ now.controller_epoch = Standing /\ next # now =>
                /\ next = [StandingController EXCEPT !.controller_epoch = CurrentControllerEpoch + 1]
                /\ CurrentControllerEpoch' = CurrentControllerEpoch + 1
                /\ OnlyChanged({ControllerEpochPath})
                /\ (\E other \in Controllers : controllers[other].controller_epoch = CurrentControllerEpoch)
                    <=> budget' # budget
            /\ next.is_stop_sent /\ ~now.is_stop_sent =>
                /\ now.controller_epoch = CurrentControllerEpoch
                /\ now.decision = <<>>
                /\ Topic.removing # {}
                /\ \A b \in Topic.removing : \E m \in messages' :
                    m.type = "stop_replica" /\ m.to = b /\ m.leader_epoch = State.leader_epoch
            /\ now.is_stop_sent /\ ~next.is_stop_sent =>
                next.controller_epoch = Standing \/ now.decision # <<>>]_vars

(* An administrator asks for another target than before, or takes a request  *)
(* back: the topic znode has another version then, and says the same.        *)
\* @req REAS-004
AdministratorsAsk ==
    [][/\ budget'["requests"] # budget["requests"] =>
            /\ OnlyChanged({ReassignmentPath})
            /\ Exists(znodes', ReassignmentPath)
            /\ znodes'[ReassignmentPath].data.replicas = requested'
            /\ requested' # requested /\ requested' \in Targets
            /\ IsRequested => znodes'[ReassignmentPath].version = RequestVersion + 1
       /\ budget'["cancellations"] # budget["cancellations"] =>
            /\ OnlyChanged({ReassignmentPath, TopicPath})
            /\ IsRequested /\ ~Exists(znodes', ReassignmentPath)
            /\ TopicIn(znodes') = Topic /\ znodes'[TopicPath].version = TopicVersion + 1
            /\ requested' = Settled
       /\ requested' # requested => budget' # budget]_vars

(* A leader that changes the ISR knows what it wrote: a replica that has     *)
(* caught up in its epoch and is assigned joins, or one that is down leaves. *)
\* @req ISR-001
\* @req ISR-002
LeadersChangeIsr ==
    [][LET next == StateIn(znodes') l == State.leader IN
        (next.isr # State.isr /\ next.leader_epoch = State.leader_epoch) =>
            /\ replicas' = [replicas EXCEPT ![l].isr = next.isr, ![l].znode_version = StateVersion + 1]
            /\ next = [State EXCEPT !.isr = next.isr]
            /\ OnlyChanged({StatePath})
            /\ \E f \in Brokers \ {l} :
                \/ /\ next.isr = State.isr \cup {f}
                   /\ f \in Topic.assigned
                   /\ replicas[f].is_up /\ replicas[f].leader = l
                   /\ replicas[f].log = "complete"
                \/ next.isr = State.isr \ {f} /\ ~replicas[f].is_up
            /\ UNCHANGED <<controllers, messages, requested, budget>>]_vars

(* A replica keeps its log when it obeys, and when its process ends. One     *)
(* that starts has read the state, and keeps its directory if it belongs to  *)
(* the partition. The dead do not start.                                     *)
\* @req START-004
\* @req CMD-002
ReplicasChange ==
    [][\A b \in Brokers : LET now == replicas[b] next == replicas'[b] IN
        /\ now.is_up /\ ~next.is_up =>
            next.log = now.log /\ budget'["crashes"] < budget["crashes"]
        /\ ~now.is_up /\ next.is_up =>
            /\ b \notin Dead
            /\ next = [NoReplica EXCEPT
                        !.leader_epoch = State.leader_epoch, !.znode_version = next.znode_version,
                        !.log = IF b \in Topic.assigned \cup State.isr \cup {State.leader}
                                THEN now.log ELSE "absent"]
            /\ next.znode_version < StateVersion
            /\ next.znode_version + 1 = StateVersion
        /\ next.leader # NoBroker /\ next.leader_epoch # now.leader_epoch =>
            next.log = (IF now.log = "absent" THEN "behind" ELSE now.log)
        /\ (now.is_up /\ next.is_up /\ next # now /\ UNCHANGED <<messages, znodes>>) =>
            next = [now EXCEPT !.log = "complete"] /\ now.log = "behind"]_vars
=============================================================================
