------------------------------- MODULE Startup -------------------------------
(* One broker starts: it registers, reads in ZooKeeper what it is assigned,  *)
(* recovers what is on its disk, drops what is no longer its own, and obeys. *)
(* Everything that destroys a log at a start or in an INIT is here.          *)
(*                                                                           *)
(* Each partition is a topic of its own, and its first other replica is of   *)
(* no interest. A log belongs to the incarnation of its topic (V3 discussion *)
(* 5 does without). The broker follows throughout; leaders, and fetches, are *)
(* `Replication`'s. Epochs of brokers are `Fencing`'s.                       *)
EXTENDS Znodes

CONSTANTS
    Partitions,     \* numbers
    Controllers,    \* 1 is in office at first, its successors follow in order
    Start,          \* "topic": assigned by the topic znode; "adding": by a reassignment; "none"
    InitRules,      \* what makes an INIT safe to delete by, below; {} is V3
    Limits          \* how often each bounded thing may happen

VARIABLES
    trees,          \* all that ZooKeeper held, oldest first: a server may lag
    broker,         \* phase of its start, what it knows, and its disk
    controllers,    \* per controller what it knows of the broker, and its INIT
    messages,       \* commands in flight: any may be late or overtaken
    budget,         \* what is left of Limits
    requested       \* history: per partition the incarnation that administrators want here, or 0

vars == <<trees, broker, controllers, messages, budget, requested>>

ASSUME Start \in {"topic", "adding", "none"}

(* whole: it is one request. controller_epoch: an older controller's is      *)
(* refused (CTL-006). first: it deletes only if nothing of its controller    *)
(* was obeyed before it; other handlers ran since it was built, and requests *)
(* overtake each other.                                                      *)
ASSUME InitRules \subseteq {"whole", "controller_epoch", "first"}

BrokerPath == "/brokers/ids/1"
TopicsPath == "/brokers/topics"
AddingPath == "/admin/partitions_reassigned"
Paths == {BrokerPath, TopicsPath, AddingPath}

Nothing == [incarnation |-> 0, leader_epoch |-> -1]

znodes == trees[Len(trees)]
IsRegistered == Exists(znodes, BrokerPath)
BrokerEpoch == znodes[BrokerPath].czxid

(* What a tree says of a partition: topic znode and state are one value, 0   *)
(* is the incarnation of a topic that never existed.                         *)
StateIn(tree, p) == tree[TopicsPath].data[p].state
IsNamedByTopic(tree, p) == tree[TopicsPath].data[p].is_assigned
IsAssigned(tree, p) == IsNamedByTopic(tree, p) \/ p \in tree[AddingPath].data

IsNewer(state, other) ==
    \/ state.incarnation > other.incarnation
    \/ state.incarnation = other.incarnation /\ state.leader_epoch > other.leader_epoch
Newest(state, other) == IF IsNewer(state, other) THEN state ELSE other

InOffice == CHOOSE c \in Controllers :
    controllers[c].is_elected /\ \A other \in Controllers : controllers[other].is_elected => other <= c

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

(* The number of a transaction is that of the tree which it makes.           *)
Write(op) == trees' = Append(trees, Multi(znodes, <<op>>, Len(trees) + 1).tree)

FirstState == IF Start = "none" THEN Nothing ELSE [incarnation |-> 1, leader_epoch |-> 0]
FirstTree ==
    [path \in Paths |->
        [data |-> CASE path = TopicsPath -> [p \in Partitions |->
                        [state |-> FirstState, is_assigned |-> Start = "topic"]]
                    [] path = AddingPath -> IF Start = "adding" THEN Partitions ELSE {}
                    [] OTHER -> <<>>,
         version |-> 0, ephemeral_owner |-> NoSession, czxid |-> 1]]

(* The broker runs, is registered, and has obeyed the first command.         *)
Init ==
    /\ trees = <<FirstTree>>
    /\ broker = [phase |-> "running", read |-> <<>>, floor |-> 1, controller_epoch |-> 1,
                 known |-> [p \in Partitions |-> FirstState],
                 told |-> [p \in Partitions |-> FirstState],
                 logs |-> [p \in Partitions |-> FirstState.incarnation]]
    /\ controllers = [c \in Controllers |-> [is_elected |-> c = 1, seen_epoch |-> 1,
                                             init |-> <<>>]]
    /\ messages = {}
    /\ budget = Limits
    /\ requested = [p \in Partitions |-> FirstState.incarnation]

Incarnations == 0 .. 1 + Limits["changes"]
States == [incarnation : Incarnations, leader_epoch : -1 .. Limits["changes"]]

IsTree(tree) ==
    /\ DOMAIN tree = Paths
    /\ tree[BrokerPath].version \in {-1, 0}
    /\ tree[BrokerPath].czxid \in 0 .. Len(trees)
    /\ tree[TopicsPath].data \in [Partitions -> [state : States, is_assigned : BOOLEAN]]
    /\ tree[AddingPath].data \subseteq Partitions

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ Len(trees) <= 1 + 2 * Limits["crashes"] + Limits["changes"]
    /\ trees # <<>> /\ \A i \in DOMAIN trees : IsTree(trees[i])
    /\ broker.phase \in {"down", "read", "registered", "read_and_registered", "running"}
    /\ Len(broker.read) <= 1 /\ \A i \in DOMAIN broker.read : IsTree(broker.read[i])
    /\ broker.floor \in DOMAIN trees
    /\ broker.controller_epoch \in {0} \cup Controllers
    /\ broker.known \in [Partitions -> States]
    /\ broker.told \in [Partitions -> States]
    /\ broker.logs \in [Partitions -> Incarnations]
    /\ \A c \in Controllers :
          /\ controllers[c].is_elected \in BOOLEAN
          /\ controllers[c].seen_epoch \in 0 .. Len(trees)
          /\ Len(controllers[c].init) <= 1
    /\ \A m \in messages :
          /\ m.controller_epoch \in Controllers
          /\ m.broker_epoch \in 1 .. Len(trees)
          /\ m.is_init \in BOOLEAN
          /\ DOMAIN m.states \subseteq Partitions
          /\ \A p \in DOMAIN m.states : m.states[p] \in States
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]
    /\ requested \in [Partitions -> Incarnations]

-----------------------------------------------------------------------------
(* The broker starts *)

(* The process stops, its session with it. The disk stays; what a crash does *)
(* to the end of a log is `Fencing`'s.                                       *)
CrashBroker ==
    /\ Spend("crashes")
    /\ broker.phase # "down"
    /\ trees' = IF IsRegistered THEN Append(trees, [znodes EXCEPT ![BrokerPath] = Absent]) ELSE trees
    /\ broker' = [broker EXCEPT
                    !.phase = "down", !.read = <<>>, !.floor = 1, !.controller_epoch = 0,
                    !.known = [p \in Partitions |-> Nothing],
                    !.told = [p \in Partitions |-> Nothing]]
    /\ UNCHANGED <<controllers, messages, requested>>

(* The broker registers before it reads, so that the controller speaks to it *)
(* about everything that comes after the read.                               *)
IsToRegister == broker.phase = "down"
PhaseOnceRegistered == "registered"
IsToRead == broker.phase = "registered"
PhaseOnceRead == "read_and_registered"

(* The broker's own write also brings the server that it talks to up to date:*)
(* later reads are not older than this.                                      *)
RegisterBroker ==
    /\ IsToRegister
    /\ Write(CreateOp(BrokerPath, <<>>, 1))
    /\ broker' = [broker EXCEPT !.phase = PhaseOnceRegistered, !.floor = Len(trees) + 1]
    /\ UNCHANGED <<controllers, messages, budget, requested>>

(* Which tree, of those that ZooKeeper held, a server may answer with.       *)
IsRecent(i) == i >= broker.floor

(* The broker reads what it is assigned (V3 E.1, E.2). A lagging server may  *)
(* answer from before, but not from before the registration.                 *)
ReadAssignment ==
    /\ IsToRead
    /\ \E i \in DOMAIN trees :
          /\ IsRecent(i)
          /\ broker' = [broker EXCEPT !.phase = PhaseOnceRead, !.read = <<trees[i]>>]
    /\ UNCHANGED <<trees, controllers, messages, budget, requested>>

(* A log is its own while the broker is in the topic znode or in a pending   *)
(* reassignment, of the incarnation that the log belongs to.                 *)
IsOwn(tree, p) ==
    /\ IsAssigned(tree, p)
    /\ StateIn(tree, p).incarnation = broker.logs[p]

(* A broker remembers what it read, unless it was told something newer. It   *)
(* takes no role from the read (START-002): commands bring that.             *)
KnownOnceRead(tree, p) == Newest(StateIn(tree, p), broker.known[p])
TakesRoleFrom(tree, p) == FALSE

(* The broker deletes what the read does not give it, unless a command has   *)
(* named it since (V3 E.4).                                                  *)
RecoverReplicas ==
    LET tree == broker.read[1]
    IN /\ broker.phase = "read_and_registered"
       /\ broker' = [broker EXCEPT
            !.phase = "running", !.read = <<>>,
            !.known = [p \in Partitions |-> KnownOnceRead(tree, p)],
            !.told = [p \in Partitions |->
                        IF TakesRoleFrom(tree, p) THEN StateIn(tree, p) ELSE broker.told[p]],
            !.logs = [p \in Partitions |->
                        IF broker.told[p] = Nothing /\ ~IsOwn(tree, p) THEN 0 ELSE broker.logs[p]]]
       /\ UNCHANGED <<trees, controllers, messages, budget, requested>>

-----------------------------------------------------------------------------
(* Administrators and the controller in office *)

Assigned(tree) == {p \in Partitions : IsAssigned(tree, p)}

Command(c, broker_epoch, tree, named, is_init) ==
    [controller_epoch |-> c, broker_epoch |-> broker_epoch, is_init |-> is_init,
     states |-> [p \in named |-> StateIn(tree, p)]]

(* Sent to a broker that the controller takes for live; a broker that is     *)
(* away hears of it at its return.                                           *)
SendIfSeen(c, tree, named) ==
    LET epoch == controllers[c].seen_epoch
    IN messages' = messages \cup (IF epoch = 0 THEN {} ELSE {Command(c, epoch, tree, named, FALSE)})

ChangeTopic(p, topic) ==
    /\ Spend("changes")
    /\ Write(SetDataOp(TopicsPath, [znodes[TopicsPath].data EXCEPT ![p] = topic], AnyVersion))
    /\ UNCHANGED <<broker, controllers>>

(* Of each incarnation anew.                                                 *)
FirstLeaderEpoch(p) == 0

(* A topic comes, or comes again, with a replica on this broker; its         *)
(* controller initialises and announces it in the same step.                 *)
CreateTopic(p) ==
    LET state == [incarnation |-> StateIn(znodes, p).incarnation + 1,
                  leader_epoch |-> FirstLeaderEpoch(p)]
    IN /\ ~IsAssigned(znodes, p)
       /\ ChangeTopic(p, [state |-> state, is_assigned |-> TRUE])
       /\ requested' = [requested EXCEPT ![p] = state.incarnation]
       /\ SendIfSeen(InOffice, trees'[Len(trees')], {p})

(* A topic goes. StopReplica to those that are there is `TopicLifecycle`'s.  *)
DeleteTopic(p) ==
    /\ IsNamedByTopic(znodes, p)
    /\ ChangeTopic(p, [state |-> StateIn(znodes, p), is_assigned |-> FALSE])
    /\ requested' = [requested EXCEPT ![p] = 0]
    /\ UNCHANGED messages

(* Another leader epoch for a partition of this broker.                      *)
ElectLeader(p) ==
    /\ IsAssigned(znodes, p)
    /\ ChangeTopic(p, [znodes[TopicsPath].data[p] EXCEPT !.state.leader_epoch = @ + 1])
    /\ UNCHANGED requested
    /\ SendIfSeen(InOffice, trees'[Len(trees')], {p})

(* A broker that is back is sent all its partitions at once (BEP-007).       *)
SentAtArrival(c) == {Command(c, BrokerEpoch, znodes, Assigned(znodes), FALSE)}

(* The controller notices that the broker is away or back, or another        *)
(* incarnation of itself (BEP-006).                                          *)
DetectBrokerChange(c) ==
    /\ c = InOffice
    /\ controllers[c].seen_epoch # BrokerEpoch
    /\ controllers' = [controllers EXCEPT ![c].seen_epoch = BrokerEpoch]
    /\ messages' = messages \cup (IF IsRegistered THEN SentAtArrival(c) ELSE {})
    /\ UNCHANGED <<trees, broker, budget, requested>>

(* A successor reads everything (V3 D.3). Its predecessor does not know, and *)
(* sends what it has.                                                        *)
ElectController(c) ==
    /\ Spend("controller_changes")
    /\ c = InOffice + 1
    /\ controllers' = [controllers EXCEPT
                        ![c] = [is_elected |-> TRUE, seen_epoch |-> BrokerEpoch,
                                init |-> <<znodes>>]]
    /\ UNCHANGED <<trees, broker, messages, requested>>

(* The INIT of a controller, in office or not: of what it read when it was   *)
(* elected, broker epoch included, while its other handlers went on; in one  *)
(* request, or split into one per partition.                                 *)
SendLeaderAndIsr(c) ==
    /\ controllers[c].init # <<>>
    /\ LET tree == controllers[c].init[1]
           whole == {Assigned(tree)}
       IN \E parts \in {whole, IF "whole" \in InitRules THEN whole
                               ELSE {{p} : p \in Assigned(tree)}} :
            messages' = messages \cup
                IF Exists(tree, BrokerPath)
                THEN {Command(c, tree[BrokerPath].czxid, tree, part, TRUE) : part \in parts}
                ELSE {}
    /\ controllers' = [controllers EXCEPT ![c].init = <<>>]
    /\ UNCHANGED <<trees, broker, budget, requested>>

-----------------------------------------------------------------------------
(* The broker obeys *)

IsFollowed(state, p) ==
    \/ IsNewer(state, broker.known[p])
    \/ state = broker.known[p] /\ broker.told[p] # state

(* The log after a command: that of another incarnation goes (START-004).    *)
LogAfter(p, state) == state.incarnation

IsOlderController(m) == m.controller_epoch < broker.controller_epoch

(* The partitions that lose their logs since the command omits them.         *)
DeletedByOmission(m) == {}

(* From its registration on, the broker follows what is newer than what it   *)
(* knows, partition by partition. What was built for another incarnation of  *)
(* it is refused (`Fencing`). A request with INIT names all partitions of    *)
(* the broker; V3 C.3 deletes the others. A start can do without that:       *)
(* what is left over the broker finds when it reads its assignment. With     *)
(* all of InitRules the deletion is safe too (CMD-007), as row               *)
(* init_deletes_by_rule shows; in `TopicLifecycle` INIT deletes, and the     *)
(* transaction of its reading stands for the rules.                          *)
BecomeFollower ==
    \E m \in messages :
        LET named == DOMAIN m.states
            followed == {p \in named : IsFollowed(m.states[p], p)}
            omitted == DeletedByOmission(m)
        IN /\ broker.phase \in {"registered", "read_and_registered", "running"}
           /\ m.broker_epoch = BrokerEpoch
           /\ ~IsOlderController(m) \/ "controller_epoch" \notin InitRules
           /\ followed # {} \/ m.is_init
           /\ messages' = messages \ {m}
           /\ broker' = [broker EXCEPT
                !.controller_epoch = IF m.controller_epoch > @ THEN m.controller_epoch ELSE @,
                !.known = [p \in Partitions |->
                            IF p \in followed THEN m.states[p] ELSE broker.known[p]],
                !.told = [p \in Partitions |->
                            IF p \in followed THEN m.states[p] ELSE broker.told[p]],
                !.logs = [p \in Partitions |->
                            CASE p \in followed -> LogAfter(p, m.states[p])
                              [] p \in omitted -> 0
                              [] OTHER -> broker.logs[p]]]
           /\ UNCHANGED <<trees, controllers, budget, requested>>

-----------------------------------------------------------------------------
Next ==
    \/ CrashBroker
    \/ RegisterBroker
    \/ ReadAssignment
    \/ RecoverReplicas
    \/ \E p \in Partitions : CreateTopic(p)
    \/ \E p \in Partitions : DeleteTopic(p)
    \/ \E p \in Partitions : ElectLeader(p)
    \/ \E c \in Controllers : DetectBrokerChange(c)
    \/ \E c \in Controllers : ElectController(c)
    \/ \E c \in Controllers : SendLeaderAndIsr(c)
    \/ BecomeFollower

(* Everything that goes on without a fault, which is a finite number of      *)
(* steps: one fairness is enough for all.                                    *)
Heal ==
    \/ RegisterBroker \/ ReadAssignment \/ RecoverReplicas \/ BecomeFollower
    \/ \E c \in Controllers : DetectBrokerChange(c) \/ SendLeaderAndIsr(c)

Spec == Init /\ [][Next]_vars /\ WF_vars(Heal)

-----------------------------------------------------------------------------
(* No log is destroyed while administrators want the incarnation that it     *)
(* belongs to on this broker: it may be the last copy.                       *)
\* @req START-001
\* @req CMD-007
DeleteOnlyIfUnassigned ==
    [][\A p \in Partitions :
        broker.logs[p] # 0 /\ broker'.logs[p] # broker.logs[p]
            => requested[p] # broker.logs[p]]_vars

(* What a broker was told to serve is served from a log of that incarnation. *)
\* @req START-004
NoStaleIncarnationServed ==
    \A p \in Partitions :
        broker.told[p].incarnation # 0 => broker.logs[p] \in {0, broker.told[p].incarnation}

(* In the end a broker that starts has read its assignment and runs.         *)
\* @req START-001
BrokerEventuallyRuns == <>[](broker.phase = "running")

(* In the end the broker has the role that ZooKeeper holds for it, in each   *)
(* of its partitions.                                                        *)
\* @req FAIL-008
\* @req BEP-007
BrokerEventuallyLearnsRole ==
    <>[](\A p \in Partitions : IsAssigned(znodes, p) => broker.told[p] = StateIn(znodes, p))

(* The broker follows a leader that is of no interest, its only one (broker  *)
(* 2), and each write is an election: the leader epoch counts the versions.  *)
AsStateZnode(p) == INSTANCE StateZnode WITH
    BrokerOf <- LAMBDA b : b,
    state <- IF ~IsAssigned(znodes, p) THEN <<>>
             ELSE [leader |-> 2, leader_epoch |-> StateIn(znodes, p).leader_epoch, isr |-> {2},
                   controller_epoch |-> 0],
    version <- IF IsAssigned(znodes, p) THEN StateIn(znodes, p).leader_epoch ELSE -1,
    assigned <- IF IsAssigned(znodes, p) THEN {1, 2} ELSE {},
    decided_on <- {IF IsAssigned(znodes, p) THEN StateIn(znodes, p).leader_epoch ELSE -1},
    asked_on <- {},
    controller_epoch <- 0,
    is_loss_told <- FALSE

(* The znode of each state changes as `StateZnode` says: each incarnation    *)
(* begins with leader epoch 0, from which each election raises it by one.    *)
\* @req TOP-001
\* @req FAIL-004
RefinesStateZnode ==
    /\ \A p \in Partitions : AsStateZnode(p)!Init
    /\ [][\A p \in Partitions : AsStateZnode(p)!IsAllowed]_vars

(* What a process knows ends with it; what it reads it reads once it has      *)
(* registered, and keeps until it has acted on it.                           *)
\* @req START-001
MemoryEnds ==
    /\ broker.phase = "down" => broker = [
            phase |-> "down", read |-> <<>>, floor |-> 1, controller_epoch |-> 0,
            known |-> [p \in Partitions |-> Nothing], told |-> [p \in Partitions |-> Nothing],
            logs |-> broker.logs]
    /\ broker.phase \in {"read", "read_and_registered"} <=> broker.read # <<>>
    /\ \A p \in Partitions : ~IsNewer(broker.told[p], broker.known[p])
    /\ IsRegistered => broker.phase \in {"registered", "read_and_registered", "running"}
    /\ broker.phase \in {"registered", "read_and_registered", "running"} =>
        /\ IsRegistered
        /\ broker.floor = BrokerEpoch

(* What a bound allows changes something else than what is left of it.       *)
BoundedStepsHaveEffect ==
    [][budget' # budget => <<trees, broker, controllers>>' # <<trees, broker, controllers>>]_vars

(* A topic comes where there is none, and each change is one more tree.      *)
\* @req TOP-003
NoResurrection ==
    [][/\ Len(trees') <= Len(trees) + 1
       /\ SubSeq(trees', 1, Len(trees)) = trees
       /\ \A p \in Partitions : LET now == StateIn(znodes, p) next == StateIn(trees'[Len(trees')], p) IN
            next.incarnation # now.incarnation =>
                ~IsAssigned(znodes, p) /\ next.incarnation = now.incarnation + 1]_vars

(* What a process has obeyed it never takes back.                            *)
\* @req CMD-002
ObeyedStays ==
    [][broker.phase # "down" /\ broker'.phase # "down" => \A p \in Partitions :
        /\ broker'.controller_epoch >= broker.controller_epoch
        /\ \A now \in {[before |-> broker.known[p], after |-> broker'.known[p]],
                    [before |-> broker.told[p], after |-> broker'.told[p]]} :
            /\ now.after.incarnation >= now.before.incarnation
            /\ now.after.incarnation = now.before.incarnation =>
                now.after.leader_epoch >= now.before.leader_epoch]_vars

(* A command is gone when the incarnation that it was built for obeys it.    *)
\* @req CMD-002
\* @req CTL-006
CommandsAreObeyed ==
    [][\A m \in messages \ messages' :
        /\ IsRegistered /\ m.broker_epoch = BrokerEpoch
        /\ broker'.controller_epoch >= m.controller_epoch
        /\ \A p \in DOMAIN m.states :
            /\ ~IsNewer(m.states[p], broker'.known[p])
            /\ broker'.known[p] = m.states[p] => broker'.told[p] = m.states[p]
        /\ \A p \in Partitions \ DOMAIN m.states :
            broker'.known[p] = broker.known[p] /\ broker'.told[p] = broker.told[p]
        /\ m.is_init \/ broker'.told # broker.told]_vars

(* A command tells what ZooKeeper holds when it is sent, an INIT what it held*)
(* at the election; the sender has been elected, and has seen the broker.    *)
(* One is sent of what has just changed, or to a broker that has come.       *)
\* @req CMD-003
\* @req BEP-007
CommandsTellWhatIs ==
    [][\A m \in messages' \ messages :
        LET sender == controllers[m.controller_epoch]
            next == controllers'[m.controller_epoch]
            tree == IF m.is_init THEN sender.init[1] ELSE trees'[Len(trees')]
        IN /\ sender.is_elected
           /\ m.broker_epoch = tree[BrokerPath].czxid \/ m.broker_epoch = sender.seen_epoch
           /\ \A p \in DOMAIN m.states : m.states[p] = StateIn(tree, p) /\ IsAssigned(tree, p)
           /\ m.is_init => next.init = <<>> /\ \A p \in Partitions : IsAssigned(tree, p) =>
                \E part \in messages' : part.is_init /\ part.controller_epoch = m.controller_epoch
                    /\ part.broker_epoch = m.broker_epoch /\ p \in DOMAIN part.states
           /\ ~m.is_init => next.init = sender.init
           /\ ~m.is_init /\ UNCHANGED trees => next.seen_epoch # sender.seen_epoch]_vars

(* A controller knows what it has read: all that there is when it takes      *)
(* office, and the registration as it is when it looks again; then a broker  *)
(* that is back is sent all its partitions. One that was deposed looks no    *)
(* more, and sends its INIT alone.                                           *)
\* @req CTL-005
\* @req BEP-007
ControllersKnowWhatTheyRead ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        /\ now.is_elected => next.is_elected /\ next.init \in {now.init, <<>>}
        /\ ~now.is_elected /\ next.is_elected =>
            next.init = <<znodes>> /\ \A other \in Controllers : other < c => controllers[other].is_elected
        /\ (\E later \in Controllers : later > c /\ controllers[later].is_elected) =>
            /\ next.seen_epoch = now.seen_epoch
            /\ \A m \in messages' \ messages : m.controller_epoch = c => m.is_init
        /\ next.seen_epoch # now.seen_epoch =>
            /\ next.seen_epoch = BrokerEpoch
            /\ now.is_elected /\ IsRegistered => \E m \in messages' :
                m.controller_epoch = c /\ m.broker_epoch = BrokerEpoch
                    /\ DOMAIN m.states = {p \in Partitions : IsAssigned(znodes, p)}]_vars

(* A broker that has read its assignment keeps what that gives it, and what  *)
(* it was told since; and it knows what it has read.                         *)
\* @req START-001
\* @req START-004
StartKnowsWhatIsGone ==
    [][broker.phase = "read_and_registered" /\ broker'.phase = "running" => \A p \in Partitions :
        LET read == StateIn(broker.read[1], p)
        IN /\ ~IsNewer(read, broker'.known[p])
           /\ broker.told[p] = Nothing =>
                broker'.logs[p] = (IF /\ IsAssigned(broker.read[1], p)
                                      /\ read.incarnation = broker.logs[p]
                                   THEN read.incarnation ELSE 0)
           /\ broker.told[p] # Nothing => broker'.logs[p] = broker.logs[p]]_vars

-----------------------------------------------------------------------------
(* What must be possible *)

HasRestarted == IsRegistered /\ BrokerEpoch > 1
IsServed(p) == broker.told[p] = StateIn(znodes, p) /\ broker.logs[p] = broker.told[p].incarnation

(* The broker runs again and serves what it is assigned.                     *)
RestartedBrokerServes ==
    HasRestarted /\ broker.phase = "running"
        /\ \E p \in Partitions : IsAssigned(znodes, p) /\ IsServed(p)

(* It runs, and waits for a command about what it has read.                  *)
RestartedBrokerWaits ==
    HasRestarted /\ broker.phase = "running"
        /\ \E p \in Partitions : broker.told[p] = Nothing /\ broker.logs[p] # 0

(* It is told about a partition before it has read of it, or before it acts  *)
(* on what it has read.                                                      *)
ToldBeforeRead == broker.phase = "registered" /\ \E p \in Partitions : broker.told[p] # Nothing
ToldSinceRead ==
    broker.phase = "read_and_registered"
        /\ \E p \in Partitions : IsNewer(broker.told[p], StateIn(broker.read[1], p))

(* A server that lags answers from before the last change.                   *)
ReadsOldTree == broker.read # <<>> /\ broker.read[1] # znodes

(* A log that is left over goes at a start.                                  *)
LeftOverIsDropped ==
    /\ HasRestarted /\ broker.phase = "running"
    /\ \E p \in Partitions : requested[p] = 0 /\ broker.logs[p] = 0 /\ broker.told[p] = Nothing

(* A topic that is made again is served from a log of its own.               *)
NewIncarnationIsServed ==
    \E p \in Partitions : requested[p] > FirstState.incarnation /\ requested[p] > 1 /\ IsServed(p)
NewTopicIsServed == FirstState = Nothing /\ \E p \in Partitions : requested[p] = 1 /\ IsServed(p)

(* Another leader epoch is obeyed.                                           *)
LeaderEpochIsObeyed == \E p \in Partitions : broker.told[p].leader_epoch > 0 /\ IsServed(p)

(* A command to the former process comes late.                               *)
LateCommandIsRefused == IsRegistered /\ \E m \in messages : m.broker_epoch < BrokerEpoch

(* The INIT of a successor is obeyed; what its predecessor sent comes later. *)
SuccessorIsObeyed == broker.controller_epoch > 1
PredecessorIsLate ==
    IsRegistered /\ \E m \in messages : m.broker_epoch = BrokerEpoch /\ IsOlderController(m)

(* An INIT knows nothing of what its controller has announced since.         *)
InitIsOld ==
    \E m \in messages : m.is_init
        /\ \E p \in Partitions : requested[p] # 0 /\ p \notin DOMAIN m.states
=============================================================================
