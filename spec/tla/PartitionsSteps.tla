-------------------------- MODULE PartitionsSteps ---------------------------
(* What each party of `Partitions` may change in one step. A decision is     *)
(* judged by what it would do if it were written at once.                    *)
EXTENDS Partitions

TopicIn(tree) == tree[TopicPath].data
HasStateIn(tree) == Exists(tree, StatePath)
OnlyChanged(before, after, paths) == \A path \in Paths \ paths : after[path] = before[path]
IsTopicKept(tree) == tree[TopicPath] = znodes[TopicPath]

(* What is named and has no state gets its first one, and no other.          *)
IsFirstState(tree) ==
    /\ Topic.is_assigned /\ ~HasState /\ HasStateIn(tree)
    /\ tree[StatePath].data.isr = Brokers
    /\ OnlyChanged(znodes, tree, {StatePath})

(* What is to be added is named; once it has its state the request goes.     *)
IsStepOfAddition(tree) ==
    /\ Exists(znodes, AddPath)
    /\ HasStateIn(tree) = HasState
    /\ IF ~Topic.is_assigned
       THEN /\ TopicIn(tree) = [Topic EXCEPT !.is_assigned = TRUE]
            /\ OnlyChanged(znodes, tree, {TopicPath})
       ELSE HasState /\ ~Exists(tree, AddPath) /\ OnlyChanged(znodes, tree, {AddPath})

(* What is to be removed goes with its state, and is to be stopped; once that*)
(* is sent the request goes.                                                 *)
IsStepOfRemoval(c, tree) ==
    /\ Exists(znodes, RemovePath)
    /\ ~TopicIn(tree).is_assigned
    /\ ~HasStateIn(tree)
    /\ IF Topic.is_assigned
       THEN /\ TopicIn(tree).removing = Incarnation
            /\ OnlyChanged(znodes, tree, {TopicPath, StatePath})
       ELSE /\ TopicIn(tree).removing = NoIncarnation
            /\ ~Exists(tree, RemovePath)
            /\ Topic.removing # NoIncarnation => controllers[c].is_stop_sent
            /\ OnlyChanged(znodes, tree, {TopicPath, RemovePath})

(* A controller in office decides one step, on what is there. Where it       *)
(* changes the topic, that is as it was when it is written.                  *)
\* @req PART-001
\* @req PART-002
\* @req CTL-011
DecisionsAreSteps ==
    [][\A c \in Controllers : LET ops == controllers'[c].decision IN
        controllers[c].decision = <<>> /\ ops # <<>> =>
            /\ controllers[c].controller_epoch = CurrentControllerEpoch
            /\ Apply(ops).ok
            /\ LET tree == Apply(ops).tree
               IN /\ IsFirstState(tree) \/ IsStepOfAddition(tree) \/ IsStepOfRemoval(c, tree)
                  /\ IsTopicKept(tree)
                        \/ ~Multi([znodes EXCEPT ![TopicPath].version = @ + 1], ops, 0).ok
            /\ UNCHANGED <<znodes, replicas, messages, committed, is_wanted, budget>>]_vars

(* What was decided is written as it is by the controller of the present     *)
(* epoch, and by no other.                                                   *)
\* @req ZK-005
DecisionsAreWritten ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        now.decision # <<>> /\ next.decision = <<>> /\ next.controller_epoch # Standing =>
            /\ znodes' = IF IsDeposed(c) THEN znodes ELSE Apply(now.decision).tree
            /\ next = [now EXCEPT !.decision = <<>>]
            /\ UNCHANGED <<replicas, messages, committed, is_wanted, budget>>]_vars

(* A term begins with the next epoch, and nothing else is known then. Stops  *)
(* are sent while a removal waits for them, about what the topic says.       *)
\* @req CTL-005
\* @req CTL-008
\* @req PART-002
TermsBegin ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        /\ now.controller_epoch = Standing /\ next # now =>
            /\ next = [StandingController EXCEPT !.controller_epoch = CurrentControllerEpoch + 1]
            /\ CurrentControllerEpoch' = CurrentControllerEpoch + 1
            /\ OnlyChanged(znodes, znodes', {ControllerEpochPath})
            /\ (\E other \in Controllers : controllers[other].controller_epoch = CurrentControllerEpoch)
                <=> budget' # budget
        /\ next.is_stop_sent /\ ~now.is_stop_sent =>
            /\ now.controller_epoch = CurrentControllerEpoch
            /\ now.decision = <<>>
            /\ Exists(znodes, RemovePath)
            /\ \A b \in Brokers : \E m \in messages' :
                m.type = "stop_replica" /\ m.to = b /\ m.incarnation = Topic.removing]_vars

(* An administrator asks for the opposite of what was asked for last, when   *)
(* that is done.                                                             *)
\* @req PART-001
\* @req PART-002
AdministratorsAsk ==
    [][/\ is_wanted' # is_wanted <=> budget'["requests"] # budget["requests"]
       /\ is_wanted' # is_wanted =>
            /\ ~Exists(znodes, AddPath) /\ ~Exists(znodes, RemovePath)
            /\ Exists(znodes', IF is_wanted' THEN AddPath ELSE RemovePath)
            /\ OnlyChanged(znodes, znodes', {IF is_wanted' THEN AddPath ELSE RemovePath})
            /\ UNCHANGED <<controllers, replicas, messages, committed>>]_vars

(* A leader that drops a member from the ISR knows what it wrote.            *)
\* @req ISR-001
LeadersChangeIsr ==
    [][(HasState /\ HasState' /\ State' # State) => LET l == State.leader isr == State'.isr IN
        /\ replicas' = [replicas EXCEPT
                        ![l].isr = isr, ![l].znode_version = znodes[StatePath].version + 1]
        /\ replicas[l].incarnation = Incarnation
        /\ \E f \in Brokers \ {l} : isr = State.isr \ {f} /\ isr # State.isr
        /\ OnlyChanged(znodes, znodes', {StatePath})
        /\ budget'["isr_changes"] < budget["isr_changes"]]_vars

(* Records are committed once, by a leader; of the partition that exists,    *)
(* when all of the ISR that ZooKeeper holds have them.                       *)
\* @req REPL-002
CommitsAreReplicated ==
    [][committed' # committed => \E l \in Brokers :
        /\ IsLeading(l)
        /\ committed' = committed \cup {replicas[l].incarnation}
        /\ replicas[l].record
        /\ HasState /\ replicas[l].incarnation = Incarnation => \A f \in State.isr :
            replicas[f].incarnation = Incarnation /\ replicas[f].record
        /\ UNCHANGED <<znodes, controllers, replicas, messages, is_wanted, budget>>]_vars

(* A replica keeps its directory when its process ends, when it obeys about  *)
(* the same incarnation, and when it starts while the topic names it. A stop *)
(* is about its own incarnation and older ones.                              *)
\* @req START-004
\* @req CMD-008
ReplicasChange ==
    [][\A b \in Brokers : LET now == replicas[b] next == replicas'[b]
                              is_kept == next.incarnation = now.incarnation /\ next.record = now.record
        IN /\ now.is_up /\ ~next.is_up => is_kept /\ budget'["crashes"] < budget["crashes"]
           /\ ~now.is_up /\ next.is_up =>
                /\ next.leader = NoBroker
                /\ IF HasState /\ Topic.is_assigned /\ now.incarnation = Incarnation THEN is_kept
                   ELSE next.incarnation = NoIncarnation /\ ~next.record
           /\ ~now.is_up /\ ~next.is_up => next = now
           /\ messages' # messages /\ now.is_up /\ next # now => \E m \in messages \ messages' :
                /\ m.to = b
                /\ m.type = "stop_replica" /\ now.incarnation > m.incarnation =>
                    next = [now EXCEPT !.oldest = next.oldest]
                /\ m.type = "stop_replica" =>
                    next.oldest = (IF now.oldest > m.incarnation THEN now.oldest ELSE m.incarnation + 1)
                /\ m.type = "leader_and_isr" /\ now.incarnation = m.incarnation =>
                    next.record = now.record
                /\ m.type = "leader_and_isr" => m.incarnation >= now.oldest
           /\ (/\ now.is_up /\ next.is_up
               /\ next # now
               /\ UNCHANGED <<messages, znodes>>) =>
                next = [now EXCEPT !.record = TRUE] /\ now.leader # NoBroker]_vars
=============================================================================
