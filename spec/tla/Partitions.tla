----------------------------- MODULE Partitions -----------------------------
(* One partition that is added to a topic and removed from it: the requests  *)
(* below /admin, the topic znode that lists the partitions, the state, and a *)
(* controller that may die between any two of its writes.                    *)
(*                                                                           *)
(* The topic znode says first what is to be, the request goes last, and what *)
(* lies between follows from the two. `removing` is the removed incarnation  *)
(* that is still to be stopped. The czxid of the state is the incarnation of *)
(* the partition; any number that grows will do, here the topic's version.   *)
(*                                                                           *)
(* Left out: elections, /controller itself, epochs at brokers, other topics. *)
(* A log either holds the one record of an incarnation or not.               *)
EXTENDS Znodes

CONSTANTS
    Brokers,        \* positive numbers; all of them are assigned replicas
    Controllers,    \* positive numbers; with one of them there is no zombie
    Limits          \* how often each bounded thing may happen

VARIABLES
    znodes,         \* the tree
    controllers,    \* per controller its epoch and what it is about to do
    replicas,       \* per broker its directory and what it believes
    messages,       \* commands in flight, as late as they like
    committed,      \* incarnations with a committed record
    is_wanted,      \* history: what the administrator asked for last
    budget          \* what is left of Limits

vars == <<znodes, controllers, replicas, messages, committed, is_wanted, budget>>

NoBroker == -1
NoVersion == -1
NoIncarnation == 0
Standing == 0

ControllerEpochPath == "/controller_epoch"
TopicPath == "/brokers/topics/t"
StatePath == "/brokers/topics/t/1/leaderAndISR"
AddPath == "/admin/partitions_add/t/1"
RemovePath == "/admin/partitions_remove/t/1"
Paths == {ControllerEpochPath, TopicPath, StatePath, AddPath, RemovePath}

Topic == znodes[TopicPath].data
TopicVersion == znodes[TopicPath].version
Apply(ops) == Multi(znodes, ops, TopicVersion + 1)

HasState == Exists(znodes, StatePath)
State == znodes[StatePath].data
Incarnation == znodes[StatePath].czxid
CurrentControllerEpoch == znodes[ControllerEpochPath].version
IsActive(c) == controllers[c].controller_epoch # Standing
IsDeposed(c) == controllers[c].controller_epoch < CurrentControllerEpoch
IsFree(c) == IsActive(c) /\ ~IsDeposed(c) /\ controllers[c].decision = <<>>
IsLeading(b) == replicas[b].is_up /\ replicas[b].leader = b

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

(* `is_stop_sent`: done by this controller for the present request. The      *)
(* other two are what a controller has to remember as soon as ZooKeeper does *)
(* not hold it (no rule here needs them): `is_initialised`, the partition of *)
(* this request has its state from me; `is_unwritten`, the request is gone,  *)
(* the topic not yet written.                                                *)
StandingController ==
    [controller_epoch |-> Standing, decision |-> <<>>, is_initialised |-> FALSE,
     is_stop_sent |-> FALSE, is_unwritten |-> FALSE]

(* `oldest` is the oldest incarnation that the broker does not know to be    *)
(* gone; `record` says whether the directory holds the record.               *)
NoReplica ==
    [is_up |-> TRUE, leader |-> NoBroker, incarnation |-> NoIncarnation, record |-> FALSE,
     isr |-> {}, znode_version |-> NoVersion, oldest |-> 1]

FirstController == CHOOSE c \in Controllers : \A other \in Controllers : c <= other

Znode(data, version) ==
    [data |-> data, version |-> version, ephemeral_owner |-> NoSession, czxid |-> 0]

Init ==
    /\ znodes = [path \in Paths |->
        CASE path = ControllerEpochPath -> Znode(<<>>, 1)
          [] path = TopicPath -> Znode([is_assigned |-> FALSE, removing |-> NoIncarnation], 0)
          [] OTHER -> Absent]
    /\ controllers = [c \in Controllers |->
                        [StandingController EXCEPT
                            !.controller_epoch = IF c = FirstController THEN 1 ELSE Standing]]
    /\ replicas = [b \in Brokers |-> NoReplica]
    /\ messages = {}
    /\ committed = {}
    /\ is_wanted = FALSE
    /\ budget = Limits

Incarnations == Nat
Versions == {NoVersion} \cup Nat

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ \A path \in Paths : znodes[path].version \in Versions /\ znodes[path].czxid \in Incarnations
    /\ CurrentControllerEpoch <= 1 + Limits["controller_crashes"] + Limits["controller_expiries"]
    /\ TopicVersion <= 2 * Limits["requests"]
    /\ znodes[StatePath].version <= Limits["isr_changes"]
    /\ Topic \in [is_assigned : BOOLEAN, removing : Incarnations]
    /\ HasState => State \in [leader : Brokers, isr : SUBSET Brokers \ {{}}]
    /\ \A c \in Controllers :
          /\ controllers[c].controller_epoch \in 0 .. CurrentControllerEpoch
          /\ controllers[c].is_initialised \in BOOLEAN
          /\ controllers[c].is_stop_sent \in BOOLEAN
          /\ controllers[c].is_unwritten \in BOOLEAN
          /\ \A i \in DOMAIN controllers[c].decision : controllers[c].decision[i].path \in Paths
    /\ replicas \in [Brokers -> [is_up : BOOLEAN, leader : {NoBroker} \cup Brokers,
                                incarnation : Incarnations, record : BOOLEAN, isr : SUBSET Brokers,
                                znode_version : Versions, oldest : Incarnations]]
    /\ \A m \in messages :
          /\ m.type \in {"leader_and_isr", "stop_replica"}
          /\ m.to \in Brokers
          /\ m.incarnation \in Incarnations \ {NoIncarnation}
    /\ committed \subseteq Incarnations \ {NoIncarnation}
    /\ is_wanted \in BOOLEAN
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]

-----------------------------------------------------------------------------
(* Administrators *)

(* A request to add the partition, or to remove it; one at a time.           *)
RequestPartitions ==
    /\ ~Exists(znodes, AddPath)
    /\ ~Exists(znodes, RemovePath)
    /\ Spend("requests")
    /\ LET path == IF is_wanted THEN RemovePath ELSE AddPath
       IN znodes' = Apply(<<CreateOp(path, <<>>, NoSession)>>).tree
    /\ is_wanted' = ~is_wanted
    /\ UNCHANGED <<controllers, replicas, messages, committed>>

-----------------------------------------------------------------------------
(* Controllers *)

(* The next epoch, in one multi with /controller, which is left out. A live  *)
(* controller is deposed only as a fault, and goes on with what it was about *)
(* to write. The new one remembers nothing.                                  *)
ElectController(c) ==
    /\ ~IsActive(c)
    /\ IF \E other \in Controllers : IsActive(other) /\ ~IsDeposed(other)
       THEN Spend("controller_expiries") ELSE UNCHANGED budget
    /\ znodes' = [znodes EXCEPT ![ControllerEpochPath].version = @ + 1]
    /\ controllers' = [controllers EXCEPT ![c].controller_epoch = CurrentControllerEpoch + 1]
    /\ UNCHANGED <<replicas, messages, committed, is_wanted>>

(* The process dies with all it remembers, between any two of its steps.     *)
CrashController(c) ==
    /\ IsActive(c)
    /\ Spend("controller_crashes")
    /\ controllers' = [controllers EXCEPT ![c] = StandingController]
    /\ UNCHANGED <<znodes, replicas, messages, committed, is_wanted>>

(* A deposed controller notices at last and forgets everything (CTL-008).    *)
ResignController(c) ==
    /\ IsActive(c)
    /\ IsDeposed(c)
    /\ controllers' = [controllers EXCEPT ![c] = StandingController]
    /\ UNCHANGED <<znodes, replicas, messages, committed, is_wanted, budget>>

Decide(c, controller, ops) ==
    /\ controllers' = [controllers EXCEPT ![c] = [controller EXCEPT !.decision = ops]]
    /\ UNCHANGED <<znodes, replicas, messages, committed, is_wanted, budget>>

WithTopic(is_assigned, removing) ==
    SetDataOp(TopicPath, [is_assigned |-> is_assigned, removing |-> removing], TopicVersion)

(* A partition gets its first state when the topic names it and it has none. *)
IsInitDue == Topic.is_assigned
IsUninitialised(c) == ~HasState
FirstStateWrite(state) == CreateOp(StatePath, state, NoSession)
OnceInitialised(controller) == controller

(* The first leader and ISR of a partition that is assigned and has none     *)
(* (CTL-011): a create.                                                      *)
InitLeader(c) ==
    /\ IsFree(c)
    /\ IsInitDue
    /\ IsUninitialised(c)
    /\ \E leader \in Brokers :
          Decide(c, OnceInitialised(controllers[c]),
                 <<FirstStateWrite([leader |-> leader, isr |-> Brokers])>>)

(* What is to be done of an addition before the request may go.              *)
IsAdded(c) == Topic.is_assigned => HasState

(* The topic names the partition; it gets a leader (InitLeader); the request *)
(* goes.                                                                     *)
AddStep(c) ==
    /\ Exists(znodes, AddPath)
    /\ IsAdded(c)
    /\ Decide(c, controllers[c],
              <<IF Topic.is_assigned THEN DeleteOp(AddPath, AnyVersion)
                ELSE WithTopic(TRUE, Topic.removing)>>)

(* The next step of an addition.                                             *)
AddPartitions(c) == IsFree(c) /\ AddStep(c)

Unassign(removing) ==
    <<WithTopic(FALSE, removing)>>
        \o IF HasState THEN <<DeleteOp(StatePath, AnyVersion)>> ELSE <<>>

(* Topic and state change in one multi; the stop is sent; the request goes.  *)
RemoveStep(c) ==
    /\ Exists(znodes, RemovePath)
    /\ Topic.is_assigned \/ Topic.removing = NoIncarnation \/ controllers[c].is_stop_sent
    /\ Decide(c, [controllers[c] EXCEPT !.is_stop_sent = FALSE],
              IF Topic.is_assigned THEN Unassign(Incarnation)
              ELSE <<WithTopic(FALSE, NoIncarnation), DeleteOp(RemovePath, AnyVersion)>>)

(* The next step of a removal.                                               *)
RemovePartitions(c) == IsFree(c) /\ RemoveStep(c)

(* One multi behind a check of the controller epoch. Refused, it is dropped: *)
(* the next look at ZooKeeper decides again.                                 *)
PublishDecision(c) ==
    /\ controllers[c].decision # <<>>
    /\ znodes' = Apply(<<CheckOp(ControllerEpochPath, controllers[c].controller_epoch)>>
                            \o controllers[c].decision).tree
    /\ controllers' = [controllers EXCEPT ![c].decision = <<>>]
    /\ UNCHANGED <<replicas, messages, committed, is_wanted, budget>>

(* The present state to all brokers that do not have it yet, for as long as  *)
(* it takes.                                                                 *)
SendLeaderAndIsr(c) ==
    LET news == {[type |-> "leader_and_isr", to |-> b, incarnation |-> Incarnation,
                  leader |-> State.leader, isr |-> State.isr,
                  znode_version |-> znodes[StatePath].version] :
                    b \in {b \in Brokers :
                            \/ replicas[b].incarnation # Incarnation
                            \/ replicas[b].znode_version < znodes[StatePath].version}}
    IN /\ IsActive(c)
       /\ ~IsDeposed(c)
       /\ HasState
       /\ ~(news \subseteq messages)
       /\ messages' = messages \cup news
       /\ UNCHANGED <<znodes, controllers, replicas, committed, is_wanted, budget>>

Stopped == Topic.removing

(* To every broker, about the incarnation that is gone.                      *)
SendStopReplica(c) ==
    /\ IsFree(c)
    /\ Exists(znodes, RemovePath)
    /\ ~controllers[c].is_stop_sent
    /\ Stopped # NoIncarnation
    /\ messages' = messages \cup
            {[type |-> "stop_replica", to |-> b, incarnation |-> Stopped] : b \in Brokers}
    /\ controllers' = [controllers EXCEPT ![c].is_stop_sent = TRUE]
    /\ UNCHANGED <<znodes, replicas, committed, is_wanted, budget>>

-----------------------------------------------------------------------------
(* Brokers *)

IsObeyed(b, m) ==
    /\ m.to = b
    /\ replicas[b].is_up
    /\ m.type = "leader_and_isr"
    /\ m.incarnation >= replicas[b].oldest
    /\ \/ m.incarnation > replicas[b].incarnation
       \/ m.incarnation = replicas[b].incarnation /\ m.znode_version > replicas[b].znode_version

Obey(b, m, isr) ==
    LET has_record == replicas[b].incarnation = m.incarnation /\ replicas[b].record
    IN /\ messages' = messages \ {m}
       /\ replicas' = [replicas EXCEPT
                        ![b] = [is_up |-> TRUE, leader |-> m.leader, incarnation |-> m.incarnation,
                                record |-> has_record, isr |-> isr,
                                znode_version |-> m.znode_version, oldest |-> m.incarnation]]
       /\ UNCHANGED <<znodes, controllers, committed, is_wanted, budget>>

(* The replica leads this incarnation, with ISR and version of the command.  *)
BecomeLeader(b) == \E m \in messages : IsObeyed(b, m) /\ m.leader = b /\ Obey(b, m, m.isr)

(* The replica follows, and starts with an empty directory if it has none.   *)
BecomeFollower(b) == \E m \in messages : IsObeyed(b, m) /\ m.leader # b /\ Obey(b, m, {})

IsPresent(incarnation) == incarnation # NoIncarnation /\ HasState /\ incarnation = Incarnation

IsStopped(b, incarnation) == replicas[b].incarnation <= incarnation

(* The broker deletes the directory of that incarnation and of older ones.   *)
StopReplica(b) ==
    \E m \in messages :
        LET oldest == IF m.incarnation >= replicas[b].oldest THEN m.incarnation + 1
                      ELSE replicas[b].oldest
        IN /\ m.to = b
           /\ m.type = "stop_replica"
           /\ replicas[b].is_up
           /\ messages' = messages \ {m}
           /\ replicas' = [replicas EXCEPT
                            ![b] = [(IF IsStopped(b, m.incarnation) THEN NoReplica ELSE @)
                                        EXCEPT !.oldest = oldest]]
           /\ UNCHANGED <<znodes, controllers, committed, is_wanted, budget>>

(* The members that a leader may drop.                                       *)
Dispensable(b) == replicas[b].isr \ {b}

(* The leader drops a member from the ISR; a refused write changes nothing.  *)
ShrinkIsr(b, f) ==
    LET isr == replicas[b].isr \ {f}
        written == Apply(<<SetDataOp(StatePath, [leader |-> b, isr |-> isr],
                                     replicas[b].znode_version)>>)
    IN /\ IsLeading(b)
       /\ f \in Dispensable(b)
       /\ IsPresent(replicas[b].incarnation)
       /\ written.ok
       /\ Spend("isr_changes")
       /\ znodes' = written.tree
       /\ replicas' = [replicas EXCEPT ![b].isr = isr, ![b].znode_version = @ + 1]
       /\ UNCHANGED <<controllers, messages, committed, is_wanted>>

(* A client's record, the only one of this incarnation.                      *)
LeaderAppend(b) ==
    /\ IsLeading(b)
    /\ ~replicas[b].record
    /\ Spend("records")
    /\ replicas' = [replicas EXCEPT ![b].record = TRUE]
    /\ UNCHANGED <<znodes, controllers, messages, committed, is_wanted>>

HasRecord(b, incarnation) == replicas[b].incarnation = incarnation /\ replicas[b].record

(* A fetch and its answer in one step; both name the incarnation.            *)
FollowerAppend(b) ==
    LET leader == replicas[b].leader
    IN /\ replicas[b].is_up
       /\ leader \notin {b, NoBroker}
       /\ IsLeading(leader)
       /\ HasRecord(leader, replicas[b].incarnation)
       /\ ~replicas[b].record
       /\ replicas' = [replicas EXCEPT ![b].record = TRUE]
       /\ UNCHANGED <<znodes, controllers, messages, committed, is_wanted, budget>>

(* All of the ISR that the leader knows have it: the record is committed.    *)
AdvanceHighWatermark(b) ==
    /\ IsLeading(b)
    /\ replicas[b].incarnation \notin committed
    /\ \A f \in replicas[b].isr \cup {b} : HasRecord(f, replicas[b].incarnation)
    /\ committed' = committed \cup {replicas[b].incarnation}
    /\ UNCHANGED <<znodes, controllers, replicas, messages, is_wanted, budget>>

(* The process stops. Its directory stays.                                   *)
CrashBroker(b) ==
    /\ replicas[b].is_up
    /\ Spend("crashes")
    /\ replicas' = [replicas EXCEPT ![b].is_up = FALSE, ![b].leader = NoBroker, ![b].isr = {},
                                    ![b].znode_version = NoVersion, ![b].oldest = 1]
    /\ UNCHANGED <<znodes, controllers, messages, committed, is_wanted>>

IsLeftOver(b) == ~Topic.is_assigned \/ ~IsPresent(replicas[b].incarnation)

(* The broker deletes what the topic does not name any more (V3 E.4), and    *)
(* waits for a command that is not older than what it read.                  *)
RestartBroker(b) ==
    LET oldest == IF HasState THEN Incarnation ELSE TopicVersion + 1
    IN /\ ~replicas[b].is_up
       /\ replicas' = [replicas EXCEPT
                        ![b] = [(IF IsLeftOver(b) THEN NoReplica ELSE @) EXCEPT
                                    !.is_up = TRUE, !.oldest = oldest]]
       /\ UNCHANGED <<znodes, controllers, messages, committed, is_wanted, budget>>

-----------------------------------------------------------------------------
Next ==
    \/ RequestPartitions
    \/ \E c \in Controllers : ElectController(c)
    \/ \E c \in Controllers : CrashController(c)
    \/ \E c \in Controllers : ResignController(c)
    \/ \E c \in Controllers : InitLeader(c)
    \/ \E c \in Controllers : AddPartitions(c)
    \/ \E c \in Controllers : RemovePartitions(c)
    \/ \E c \in Controllers : PublishDecision(c)
    \/ \E c \in Controllers : SendLeaderAndIsr(c)
    \/ \E c \in Controllers : SendStopReplica(c)
    \/ \E b \in Brokers : BecomeLeader(b)
    \/ \E b \in Brokers : BecomeFollower(b)
    \/ \E b \in Brokers : StopReplica(b)
    \/ \E b, f \in Brokers : ShrinkIsr(b, f)
    \/ \E b \in Brokers : LeaderAppend(b)
    \/ \E b \in Brokers : FollowerAppend(b)
    \/ \E b \in Brokers : AdvanceHighWatermark(b)
    \/ \E b \in Brokers : CrashBroker(b)
    \/ \E b \in Brokers : RestartBroker(b)

(* What mends things goes on while it can. No such step undoes another, so   *)
(* that one condition for all of them is enough.                             *)
Heal ==
    \/ \E c \in Controllers :
        \/ ElectController(c) /\ UNCHANGED budget
        \/ ResignController(c)
        \/ InitLeader(c)
        \/ AddPartitions(c)
        \/ RemovePartitions(c)
        \/ PublishDecision(c)
        \/ SendLeaderAndIsr(c)
        \/ SendStopReplica(c)
    \/ \E b \in Brokers :
        \/ BecomeLeader(b)
        \/ BecomeFollower(b)
        \/ StopReplica(b)
        \/ RestartBroker(b)

Spec == Init /\ [][Next]_vars /\ WF_vars(Heal)

-----------------------------------------------------------------------------
(* No broker loses the directory of an incarnation that exists, nor what is  *)
(* in it.                                                                    *)
\* @req CMD-008
\* @req PART-002
DeleteOnlyIfUnassigned ==
    [][\A b \in Brokers :
        Exists(znodes, StatePath) /\ replicas[b].incarnation = znodes[StatePath].czxid
            => /\ replicas'[b].incarnation = replicas[b].incarnation
               /\ replicas[b].record => replicas'[b].record]_vars

(* A partition that the topic does not name has no state: the next           *)
(* controller would bring it back, the next broker would delete it.          *)
\* @req PART-001
\* @req PART-002
NoResurrection == HasState => Topic.is_assigned

(* All of the ISR hold what is committed in this incarnation.                *)
\* @req CTL-011
\* @req PART-001
CommittedDurable ==
    (HasState /\ Incarnation \in committed) =>
        \A b \in State.isr : replicas[b].incarnation = Incarnation /\ replicas[b].record

(* In the end a partition that was asked for is named, has a leader, and the *)
(* request is gone.                                                          *)
\* @req PART-001
AdditionCompletes ==
    <>[](is_wanted => Topic.is_assigned /\ HasState /\ ~Exists(znodes, AddPath))

(* In the end a partition that was to go is gone from ZooKeeper and from all *)
(* directories, and so is the request.                                       *)
\* @req PART-002
RemovalCompletes ==
    <>[](~is_wanted =>
            /\ ~Topic.is_assigned
            /\ ~HasState
            /\ ~Exists(znodes, RemovePath)
            /\ \A b \in Brokers : replicas[b].incarnation = NoIncarnation)

(* Nothing but a first state is decided here, and none is decided by a       *)
(* deposed controller. The state has no epochs: there are no elections.      *)
AsStateZnode == INSTANCE StateZnode WITH
    BrokerOf <- LAMBDA b : b,
    state <- IF ~HasState THEN <<>>
             ELSE [leader |-> State.leader, leader_epoch |-> 0, isr |-> State.isr,
                   controller_epoch |-> 0],
    version <- znodes[StatePath].version,
    assigned <- IF Topic.is_assigned THEN Brokers ELSE {},
    decided_on <- IF \E c \in Controllers : controllers[c].decision # <<>> /\ ~IsDeposed(c)
                  THEN {NoVersion} ELSE {},
    asked_on <- {replicas[b].znode_version : b \in {b \in Brokers : IsLeading(b)}},
    controller_epoch <- 0,
    is_loss_told <- FALSE

(* A term ends before the next one begins, and a decision is written or      *)
(* forgotten before the next one is made: nothing is put in its place. One   *)
(* that is in office stays there, unless its process dies.                   *)
\* @req CTL-008
NothingIsReplaced ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        /\ now.controller_epoch # Standing =>
            \/ next.controller_epoch = now.controller_epoch
            \/ /\ next.controller_epoch = Standing
               /\ now.controller_epoch = CurrentControllerEpoch =>
                    budget'["controller_crashes"] < budget["controller_crashes"]
        /\ now.decision # <<>> => next.decision \in {now.decision, <<>>}]_vars

(* What a process knows ends with it, and what a controller knows with its   *)
(* term. Only a leader has an ISR.                                           *)
\* @req CTL-008
MemoryEnds ==
    /\ \A c \in Controllers : ~IsActive(c) => controllers[c] = StandingController
    /\ \A b \in Brokers : LET r == replicas[b] IN
        /\ ~r.is_up => r.leader = NoBroker /\ r.oldest = 1
        /\ r.leader = NoBroker => r.isr = {} /\ r.znode_version = NoVersion
        /\ r.leader # NoBroker => r.incarnation >= r.oldest
        /\ r.leader = b <=> r.isr # {}
        /\ r.record => r.incarnation # NoIncarnation

(* A leader that knows the version of the state knows the state.             *)
\* @req ZK-003
VersionAgreement ==
    \A b \in Brokers :
        (/\ IsLeading(b)
         /\ HasState
         /\ replicas[b].incarnation = Incarnation
         /\ replicas[b].znode_version = znodes[StatePath].version) =>
            State.leader = b /\ State.isr = replicas[b].isr

(* What a bound allows changes something else than what is left of it.       *)
BoundedStepsHaveEffect ==
    [][budget' # budget => <<znodes, controllers, replicas>>' # <<znodes, controllers, replicas>>
      ]_vars

(* A command tells what ZooKeeper holds when it is sent by the controller in *)
(* office, and no broker what it has done already; a stop is about an        *)
(* incarnation that is gone.                                                 *)
\* @req CMD-003
\* @req PART-002
CommandsTellWhatIs ==
    [][\A m \in messages' \ messages :
        IF m.type = "stop_replica" THEN ~HasState /\ m.incarnation <= TopicVersion
        ELSE /\ HasState
             /\ \E c \in Controllers : controllers[c].controller_epoch = CurrentControllerEpoch
             /\ m.incarnation = Incarnation
             /\ m.leader = State.leader
             /\ m.isr = State.isr
             /\ m.znode_version = znodes[StatePath].version
             /\ \/ replicas[m.to].incarnation # m.incarnation
                \/ replicas[m.to].znode_version # m.znode_version]_vars

(* A stop that counts as sent was sent to every broker. One that was sent is *)
(* not sent again, and counts until the next step is decided.                *)
\* @req PART-002
WhatIsGoneIsStopped ==
    [][/\ (\E m \in messages' \ messages : m.type = "stop_replica") => \E c \in Controllers :
            controllers'[c].is_stop_sent /\ ~controllers[c].is_stop_sent
       /\ \A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
            /\ next.is_stop_sent /\ ~now.is_stop_sent => \A b \in Brokers :
                \E m \in messages' : m.type = "stop_replica" /\ m.to = b
            /\ now.is_stop_sent /\ ~next.is_stop_sent =>
                next.controller_epoch = Standing \/ next.decision # <<>>]_vars

(* A command is gone when it is obeyed, which makes the replica what the     *)
(* command says.                                                             *)
\* @req CMD-002
\* @req CMD-008
CommandsAreObeyed ==
    [][\A m \in messages \ messages' : LET known == replicas[m.to] next == replicas'[m.to] IN
        /\ known.is_up
        /\ next.is_up
        /\ IF m.type = "stop_replica"
           THEN next.incarnation \notin 1 .. m.incarnation /\ next.oldest > m.incarnation
           ELSE /\ next.leader = m.leader
                /\ next.isr = (IF m.leader = m.to THEN m.isr ELSE {})
                /\ next.incarnation = m.incarnation
                /\ next.oldest = m.incarnation
                /\ next.znode_version = m.znode_version
                /\ known.incarnation = m.incarnation => known.znode_version < m.znode_version]_vars

(* What a running broker has obeyed, and what it knows to be gone, it never  *)
(* takes back, and a record stays as long as its directory.                  *)
\* @req CMD-002
\* @req CMD-008
ObeyedStays ==
    [][\A b \in Brokers : LET known == replicas[b] next == replicas'[b] IN
        /\ known.is_up /\ next.is_up =>
            /\ next.oldest >= known.oldest
            /\ next.incarnation # known.incarnation => known.incarnation < next.oldest /\ ~next.record
            /\ next.incarnation = known.incarnation => next.znode_version >= known.znode_version
        /\ next.incarnation = known.incarnation /\ known.record => next.record]_vars

(* A record is the client's, of the broker that leads, or comes from that.   *)
\* @req REPL-001
RecordsComeFromLeaders ==
    [][\A b \in Brokers :
        replicas[b].record = FALSE /\ replicas'[b].record # FALSE => \E l \in Brokers :
            /\ replicas[b].is_up /\ replicas[b].leader = l
            /\ replicas[l].is_up /\ replicas[l].leader = l
            /\ l = b \/ (/\ replicas[l].incarnation = replicas[b].incarnation
                         /\ replicas[l].record = replicas'[b].record)]_vars

(* A broker that starts knows what is gone, and keeps nothing of it.         *)
\* @req START-004
StartKnowsWhatIsGone ==
    [][\A b \in Brokers : ~replicas[b].is_up /\ replicas'[b].is_up =>
        /\ replicas'[b].incarnation \in {NoIncarnation, Incarnation}
        /\ \A incarnation \in 1 .. TopicVersion :
            replicas'[b].oldest <= incarnation <=> HasState /\ incarnation >= Incarnation]_vars

(* The znode of the state changes as `StateZnode` says: it comes after the   *)
(* assignment and goes with it.                                              *)
\* @req CTL-011
\* @req PART-002
RefinesStateZnode == AsStateZnode!Spec

-----------------------------------------------------------------------------
(* What must be possible *)

IsPast(what) == budget[what] < Limits[what]
IsServed ==
    HasState /\ IsLeading(State.leader) /\ \A b \in Brokers :
        replicas[b].incarnation = Incarnation /\ replicas[b].leader = State.leader
IsGoneEverywhere ==
    ~Topic.is_assigned /\ ~HasState /\ \A b \in Brokers : replicas[b].incarnation = NoIncarnation
IsIdle == ~Exists(znodes, AddPath) /\ ~Exists(znodes, RemovePath) /\ Topic.removing = NoIncarnation

(* The partition is added, removed, and added again.                         *)
AdditionIsOver == IsServed /\ IsIdle /\ is_wanted
RemovalIsOver == IsGoneEverywhere /\ IsIdle /\ ~is_wanted /\ IsPast("requests")
NothingIsLeftInFlight == RemovalIsOver /\ messages = {}
AddedAgain == IsServed /\ budget["requests"] + 3 <= Limits["requests"]

(* Its record is committed by all replicas, or by the leader that is left in *)
(* the ISR.                                                                  *)
RecordIsReplicated == \E one \in committed : \A b \in Brokers : HasRecord(b, one)
LeaderCommitsAlone ==
    HasState /\ Incarnation \in committed /\ State.isr = {State.leader}
        /\ \E b \in Brokers : ~replicas[b].record

(* Another controller takes over in the middle of an addition, and of a      *)
(* removal, and ends it.                                                     *)
SuccessorAdds == CurrentControllerEpoch > 1 /\ AdditionIsOver
SuccessorRemoves == CurrentControllerEpoch > 1 /\ RemovalIsOver
StopIsSentTwice ==
    \E c \in Controllers : CurrentControllerEpoch > 1 /\ IsActive(c) /\ controllers[c].is_stop_sent

(* A deposed controller has a decision left.                                 *)
ZombieDecides == \E c \in Controllers : IsDeposed(c) /\ controllers[c].decision # <<>>

(* One that sees that it is deposed is a candidate again.                    *)
DeposedControllerResigns ==
    /\ CurrentControllerEpoch > 1
    /\ \E c \in Controllers : IsActive(c)
    /\ \A c \in Controllers : IsActive(c) => ~IsDeposed(c)

(* A command arrives for a partition that is gone, and a stop for one that   *)
(* was added again.                                                          *)
LateCommandIsRefused ==
    \E m \in messages : m.type = "leader_and_isr" /\ m.incarnation < replicas[m.to].oldest
LateStopDeletesNothing ==
    \E m \in messages : m.type = "stop_replica" /\ replicas[m.to].incarnation > m.incarnation

(* A broker comes back with the directory of a partition that is assigned,   *)
(* or drops what is left over.                                               *)
RestartKeepsDirectory ==
    \E b \in Brokers : IsPast("crashes") /\ replicas[b].is_up /\ replicas[b].record
        /\ IsPresent(replicas[b].incarnation) /\ replicas[b].leader = NoBroker
RestartDropsDirectory ==
    \E b \in Brokers : IsPast("crashes") /\ IsPast("records") /\ replicas[b].is_up
        /\ replicas[b].incarnation = NoIncarnation /\ Topic.removing # NoIncarnation
RestartedReplicaServes == IsPast("crashes") /\ IsServed /\ Incarnation \in committed
RestartOfFormerIncarnation ==
    \E b \in Brokers : HasState /\ ~replicas[b].is_up /\ replicas[b].record
        /\ replicas[b].incarnation < Incarnation
=============================================================================
