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
    breaches        \* history: acts that no rule allows

vars == <<znodes, controllers, replicas, messages, committed, budget, breaches>>

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

Breach(invariant, actor, is_breached) ==
    breaches' = breaches
        \cup (IF is_breached THEN {[invariant |-> invariant, actor |-> actor]} ELSE {})

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
    /\ breaches = {}
=============================================================================
