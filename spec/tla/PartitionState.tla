--------------------------- MODULE PartitionState ---------------------------
(* What `LeaderAndIsr` acts on: variables, initial states, and shorthands.   *)
EXTENDS Znodes, Network, FiniteSets, TLC

CONSTANTS
    Brokers,        \* positive numbers; all of them are assigned replicas
    Controllers,    \* positive numbers; with one of them there is no failover
    InitialIsr,     \* of the first leader, its smallest member, when Start is "serving"
    Start,          \* "empty": nothing exists; "serving": the first leader serves
    unclean_leader_election,    \* whether a broker outside the ISR may lead when that is dead
    Limits          \* how often each bounded thing may happen

VARIABLES
    znodes,         \* the tree
    controllers,    \* per controller what it knows and has in flight
    replicas,       \* per broker what it believes about the partition
    messages,       \* commands in flight
    budget,         \* what is left of Limits
    breaches        \* history: acts that no rule allows

metadata_vars == <<znodes, controllers, replicas, messages, budget, breaches>>

ASSUME Start \in {"empty", "serving"}
ASSUME unclean_leader_election \in BOOLEAN

NoBroker == -1
NoEpoch == -1
NoVersion == -1

ControllerPath == "/controller"
ControllerEpochPath == "/controller_epoch"
TopicPath == "/brokers/topics/t"
StatePath == "/brokers/topics/t/0/leaderAndISR"
BrokerPaths == [b \in Brokers |-> "/brokers/ids/" \o ToString(b)]
BrokerPath(b) == BrokerPaths[b]
Paths == {ControllerPath, ControllerEpochPath, TopicPath, StatePath}
         \cup {BrokerPath(b) : b \in Brokers}

(* Broker epochs are not modelled here, hence no transaction ids.            *)
Apply(ops) == Multi(znodes, ops, 0)

(* The version that a write names, of the one that its author knows (ZK-003).*)
NamedVersion(known) == known

Registered == {b \in Brokers : Exists(znodes, BrokerPath(b))}
State == znodes[StatePath].data
StateVersion == znodes[StatePath].version
CurrentControllerEpoch == znodes[ControllerEpochPath].data

InOffice(c) == znodes[ControllerPath].ephemeral_owner = c

(* Another controller was elected since: whatever `c` does now comes late.   *)
IsDeposed(c) == Exists(znodes, ControllerPath) /\ ~InOffice(c)

AskedIsr(b) == IF replicas[b].pending_isr = <<>> THEN {} ELSE replicas[b].pending_isr[1]

(* The replicas that a commit waits for: the ISR and, while a change is in   *)
(* flight, the one that the leader asked for.                                *)
MaximalIsr(b) == replicas[b].isr \cup AskedIsr(b)

IsLeading(b) == replicas[b].role = "leader"

IsActingLeader(b) ==
    /\ IsLeading(b)
    /\ State.leader = b
    /\ State.leader_epoch = replicas[b].leader_epoch

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

Larger(n, m) == IF n > m THEN n ELSE m

Heard(b, leader_epoch, controller_epoch) ==
    [leader_epoch |-> Larger(replicas[b].heard.leader_epoch, leader_epoch),
     controller_epoch |-> Larger(replicas[b].heard.controller_epoch, controller_epoch)]

(* An older controller than one of which the broker has heard sent `m`.      *)
IsStale(b, m) == m.controller_epoch < replicas[b].heard.controller_epoch

Breached(invariant, actor, is_breached) ==
    IF is_breached THEN {[invariant |-> invariant, actor |-> actor]} ELSE {}

Breach(invariant, actor, is_breached) ==
    breaches' = breaches \cup Breached(invariant, actor, is_breached)

-----------------------------------------------------------------------------
(* Initial states *)

(* `heard` is history: the largest epochs that the broker has read or obeyed *)
(* since it began. No guard reads it.                                        *)
StoppedReplica(role) ==
    [role |-> role, leader |-> NoBroker, leader_epoch |-> NoEpoch, isr |-> {},
     pending_isr |-> <<>>, is_reply_lost |-> FALSE, znode_version |-> NoVersion,
     controller_epoch |-> 0, heard |-> [leader_epoch |-> NoEpoch, controller_epoch |-> 0]]

FirstLeader == CHOOSE b \in InitialIsr : \A other \in InitialIsr : b <= other
FirstController == CHOOSE c \in Controllers : \A other \in Controllers : c <= other

FirstState ==
    [leader |-> FirstLeader, leader_epoch |-> 0, isr |-> InitialIsr, controller_epoch |-> 1]

Persistent(data, version) ==
    [data |-> data, version |-> version, ephemeral_owner |-> NoSession, czxid |-> 0]
Ephemeral(owner) == [data |-> <<>>, version |-> 0, ephemeral_owner |-> owner, czxid |-> 0]

IdleController ==
    [status |-> "standing", controller_epoch |-> 0, live_brokers |-> {}, is_watching |-> TRUE,
     decision |-> <<>>, is_reply_lost |-> FALSE, to_send |-> <<>>]

InitEmpty ==
    /\ znodes = [path \in Paths |->
                    IF path = ControllerEpochPath THEN Persistent(0, 0) ELSE Absent]
    /\ controllers = [c \in Controllers |-> IdleController]
    /\ replicas = [b \in Brokers |-> StoppedReplica("starting")]

(* Reachable from the empty start: all brokers are registered, the first     *)
(* controller is active, and every broker has obeyed its first command.      *)
InitServing ==
    /\ znodes = [path \in Paths |->
                    CASE path = ControllerPath -> Ephemeral(FirstController)
                      [] path = ControllerEpochPath -> Persistent(1, 1)
                      [] path = TopicPath -> Persistent(<<>>, 0)
                      [] path = StatePath -> Persistent(FirstState, 0)
                      [] OTHER -> Ephemeral(CHOOSE b \in Brokers : BrokerPath(b) = path)]
    /\ controllers = [c \in Controllers |->
                        IF c = FirstController
                        THEN [IdleController EXCEPT !.status = "active", !.controller_epoch = 1,
                                                    !.live_brokers = Brokers]
                        ELSE IdleController]
    /\ replicas = [b \in Brokers |->
                    [StoppedReplica("follower") EXCEPT
                        !.role = IF b = FirstLeader THEN "leader" ELSE @,
                        !.leader = FirstLeader, !.leader_epoch = 0,
                        !.isr = IF b = FirstLeader THEN InitialIsr ELSE {},
                        !.znode_version = 0, !.controller_epoch = 1,
                        !.heard = [leader_epoch |-> 0, controller_epoch |-> 1]]]

Init ==
    /\ IF Start = "empty" THEN InitEmpty ELSE InitServing
    /\ messages = {}
    /\ budget = Limits
    /\ breaches = {}
=============================================================================
