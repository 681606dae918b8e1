------------------------- MODULE ReassignmentState --------------------------
(* What `Reassignment` acts on: variables, initial states, and shorthands.   *)
EXTENDS Znodes, FiniteSets

CONSTANTS
    Brokers,        \* positive numbers
    Controllers,    \* positive numbers; with one of them there is no zombie
    FirstAssigned,  \* the old replicas; those that are not dead are the first ISR
    Targets,        \* sets of brokers that an administrator may ask for
    Dead,           \* brokers that never run
    Limits          \* how often each bounded thing may happen

VARIABLES
    znodes,         \* the tree
    controllers,    \* per controller its epoch and what it is about to write
    replicas,       \* per broker its directory and what it believes
    messages,       \* commands in flight, as late as they like
    requested,      \* history: the assignment that the administrator wants
    budget          \* what is left of Limits

vars == <<znodes, controllers, replicas, messages, requested, budget>>

NoBroker == -1
NoEpoch == -1
NoVersion == -1
Standing == 0

ControllerEpochPath == "/controller_epoch"
TopicPath == "/brokers/topics/t"
StatePath == "/brokers/topics/t/0/leaderAndISR"
ReassignmentPath == "/admin/partitions_reassigned/t/0"
Paths == {ControllerEpochPath, TopicPath, StatePath, ReassignmentPath}

Apply(ops) == Multi(znodes, ops, 0)

Topic == znodes[TopicPath].data
TopicVersion == znodes[TopicPath].version
State == znodes[StatePath].data
StateVersion == znodes[StatePath].version
IsRequested == Exists(znodes, ReassignmentPath)
CurrentControllerEpoch == znodes[ControllerEpochPath].version

IsActive(c) == controllers[c].controller_epoch # Standing
IsDeposed(c) == controllers[c].controller_epoch < CurrentControllerEpoch
IsFree(c) == IsActive(c) /\ ~IsDeposed(c) /\ controllers[c].decision = <<>>
IsLeading(b) == replicas[b].is_up /\ replicas[b].leader = b

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

-----------------------------------------------------------------------------
(* Initial states: the old replicas serve. *)

FirstIsr == FirstAssigned \ Dead
FirstLeader == CHOOSE b \in FirstIsr : \A other \in FirstIsr : b <= other
FirstController == CHOOSE c \in Controllers : \A other \in Controllers : c <= other

StandingController ==
    [controller_epoch |-> Standing, decision |-> <<>>, addition |-> <<>>, is_stop_sent |-> FALSE,
     remembered |-> <<>>]

(* `log` is "absent", "behind" (without the record) or "complete".           *)
NoReplica ==
    [is_up |-> TRUE, log |-> "absent", leader |-> NoBroker, leader_epoch |-> NoEpoch,
     isr |-> {}, znode_version |-> NoVersion]

FirstReplica(b) ==
    IF b \in Dead
    THEN [NoReplica EXCEPT !.is_up = FALSE,
                           !.log = IF b \in FirstAssigned THEN "behind" ELSE "absent"]
    ELSE IF b \notin FirstAssigned THEN NoReplica
    ELSE [NoReplica EXCEPT !.log = "complete", !.leader = FirstLeader, !.leader_epoch = 0,
                           !.isr = IF b = FirstLeader THEN FirstIsr ELSE {}, !.znode_version = 0]

Znode(data, version) ==
    [data |-> data, version |-> version, ephemeral_owner |-> NoSession, czxid |-> 0]

Init ==
    /\ znodes = [path \in Paths |->
        CASE path = ControllerEpochPath -> Znode(<<>>, 1)
          [] path = TopicPath ->
                Znode([assigned |-> FirstAssigned, adding |-> {}, removing |-> {},
                       partitions |-> 1], 0)
          [] path = StatePath ->
                Znode([leader |-> FirstLeader, leader_epoch |-> 0, isr |-> FirstIsr], 0)
          [] OTHER -> Absent]
    /\ controllers = [c \in Controllers |->
                        [StandingController EXCEPT
                            !.controller_epoch = IF c = FirstController THEN 1 ELSE Standing]]
    /\ replicas = [b \in Brokers |-> FirstReplica(b)]
    /\ messages = {}
    /\ requested = FirstAssigned
    /\ budget = Limits

Epochs == {NoEpoch} \cup Nat
Versions == {NoVersion} \cup Nat

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ Topic \in [assigned : SUBSET Brokers \ {{}}, adding : SUBSET Brokers,
                 removing : SUBSET Brokers, partitions : Nat]
    /\ CurrentControllerEpoch <= 1 + Limits["controller_crashes"] + Limits["controller_expiries"]
    /\ State.leader_epoch <= 2 * (Limits["requests"] + Limits["cancellations"] + Limits["crashes"])
    /\ Topic.adding \subseteq Topic.assigned
    /\ Topic.removing \cap Topic.assigned = {}
    /\ State \in [leader : Brokers, leader_epoch : Nat, isr : SUBSET Brokers \ {{}}]
    /\ IsRequested => znodes[ReassignmentPath].data.replicas \in Targets
    /\ \A c \in Controllers :
          /\ controllers[c].controller_epoch \in 0 .. CurrentControllerEpoch
          /\ controllers[c].is_stop_sent \in BOOLEAN
          /\ \A i \in DOMAIN controllers[c].decision : controllers[c].decision[i].path \in Paths
          /\ Len(controllers[c].addition) <= 1
          /\ Len(controllers[c].remembered) <= 1
    /\ replicas \in [Brokers -> [is_up : BOOLEAN, log : {"absent", "behind", "complete"},
                                leader : {NoBroker} \cup Brokers, leader_epoch : Epochs,
                                isr : SUBSET Brokers, znode_version : Versions]]
    /\ \A m \in messages :
          /\ m.type \in {"leader_and_isr", "stop_replica"}
          /\ m.to \in Brokers
          /\ m.leader_epoch \in Nat
    /\ requested \in SUBSET Brokers \ {{}}
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]
=============================================================================
