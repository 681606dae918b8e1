----------------------------- MODULE TopicState -----------------------------
(* What `TopicLifecycle` acts on: variables, initial states, and shorthands. *)
EXTENDS Znodes, FiniteSets, TLC

CONSTANTS
    Brokers,        \* positive numbers; all of them are assigned replicas
    Controllers,    \* positive numbers; with one of them there is no zombie
    Limits          \* how often each bounded thing may happen

VARIABLES
    znodes,         \* the tree
    controllers,    \* per controller what it remembers and is about to do
    replicas,       \* per broker its directory and what it believes
    messages,       \* commands in flight, as late as they like
    committed,      \* incarnations with a committed record
    budget,         \* what is left of Limits
    obeyed          \* history: per broker the incarnation that it was told since it started, or 0

vars == <<znodes, controllers, replicas, messages, committed, budget, obeyed>>

NoBroker == -1
NoVersion == -1
NoIncarnation == 0
Standing == 0

ControllerEpochPath == "/controller_epoch"
TopicPath == "/brokers/topics/t"
StatePath == "/brokers/topics/t/0/leaderAndISR"

(* One more than administrators create: the one that a controller makes that *)
(* brings a deleted topic back.                                              *)
Incarnations == 1 .. Limits["topics"] + 1
TopicIdPaths == [i \in Incarnations |-> "/brokers/topics/t/id/" \o ToString(i)]
Paths == {ControllerEpochPath, TopicPath, StatePath} \cup {TopicIdPaths[i] : i \in Incarnations}

(* The czxid of what is created: the number of topics created so far.        *)
Created == Limits["topics"] - budget["topics"]
Apply(ops, czxid) == Multi(znodes, ops, czxid)

CurrentIncarnation == znodes[TopicPath].czxid
State == znodes[StatePath].data
CurrentControllerEpoch == znodes[ControllerEpochPath].version
IsActive(c) == controllers[c].controller_epoch # Standing
IsDeposed(c) == controllers[c].controller_epoch < CurrentControllerEpoch
IsLeading(b) == replicas[b].is_up /\ replicas[b].leader = b

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

StandingController ==
    [controller_epoch |-> Standing, known |-> NoIncarnation, is_initialising |-> FALSE,
     is_init_due |-> FALSE, to_stop |-> {}, decision |-> <<>>]

(* `oldest` is the oldest incarnation that the broker does not know to be    *)
(* gone; `record` is the incarnation of the record that the directory holds. *)
NoReplica ==
    [is_up |-> TRUE, leader |-> NoBroker, incarnation |-> NoIncarnation, record |-> NoIncarnation,
     isr |-> {}, znode_version |-> NoVersion, oldest |-> 1]

FirstController == CHOOSE c \in Controllers : \A other \in Controllers : c <= other

Init ==
    /\ znodes = [path \in Paths |->
                    IF path = ControllerEpochPath
                    THEN [data |-> <<>>, version |-> 1, ephemeral_owner |-> NoSession, czxid |-> 0]
                    ELSE Absent]
    /\ controllers = [c \in Controllers |->
                        [StandingController EXCEPT
                            !.controller_epoch = IF c = FirstController THEN 1 ELSE Standing]]
    /\ replicas = [b \in Brokers |-> NoReplica]
    /\ messages = {}
    /\ committed = {}
    /\ budget = Limits
    /\ obeyed = [b \in Brokers |-> NoIncarnation]

Known == {NoIncarnation} \cup Incarnations
Versions == {NoVersion} \cup Nat

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ \A path \in Paths : znodes[path].version \in Versions /\ znodes[path].czxid \in Known
    /\ CurrentControllerEpoch <= 1 + Limits["controller_crashes"] + Limits["controller_expiries"]
    /\ znodes[StatePath].version <= Limits["isr_changes"]
    /\ znodes[TopicPath].version <= Limits["reassignments"]
    /\ Exists(znodes, StatePath) => State \in [leader : Brokers, isr : SUBSET Brokers \ {{}}]
    /\ \A c \in Controllers :
          /\ controllers[c].controller_epoch \in 0 .. CurrentControllerEpoch
          /\ controllers[c].known \in Known
          /\ controllers[c].is_initialising \in BOOLEAN
          /\ controllers[c].is_init_due \in BOOLEAN
          /\ controllers[c].to_stop \subseteq Incarnations
          /\ controllers[c].decision \in
                {<<>>} \cup {<<[write |-> write, leader |-> leader, incarnation |-> incarnation]>> :
                                write \in {"state", "assignment"},
                                leader \in {NoBroker} \cup Brokers, incarnation \in Incarnations}
    /\ replicas \in [Brokers -> [is_up : BOOLEAN, leader : {NoBroker} \cup Brokers,
                                incarnation : Known, record : Known, isr : SUBSET Brokers,
                                znode_version : Versions, oldest : 1 .. Limits["topics"] + 2]]
    /\ \A m \in messages :
          /\ m.type \in {"leader_and_isr", "stop_replica", "init"}
          /\ m.to \in Brokers
          /\ m.incarnation \in Known
    /\ committed \subseteq Incarnations
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]
    /\ obeyed \in [Brokers -> Known]
=============================================================================
