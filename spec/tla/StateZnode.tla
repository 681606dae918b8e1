----------------------------- MODULE StateZnode -----------------------------
(* What may ever happen to the state of a partition in ZooKeeper, whoever    *)
(* writes it and however late: leader, ISR and epochs, in one znode with a   *)
(* version. No brokers, no messages, no failures: each module that has this  *)
(* znode is checked to change it in these steps alone (RefinesStateZnode).   *)
(* What a module leaves out it maps to something that never changes; then it *)
(* takes none of the steps that need it.                                     *)
EXTENDS Integers

CONSTANT
    BrokerOf(_)         \* of a member of the ISR: an id is its own, an incarnation has one

VARIABLES
    state,              \* [leader, leader_epoch, isr, controller_epoch], <<>> while there is none
    version,            \* of the znode, NoVersion while there is none
    assigned,           \* the brokers that have a replica, none without a topic
    decided_on,         \* versions on which a controller in office has decided what to write
    asked_on,           \* versions on which a leader has asked for another ISR
    controller_epoch,   \* of the last controller that was elected
    is_loss_told        \* an election has said that records may be lost

NoBroker == -1
NoVersion == -1

Exists == version # NoVersion

Brokers(members) == {BrokerOf(member) : member \in members}

(* The ISR is never empty (FAIL-003) and never wider than the assignment     *)
(* (REAS-002); its leader belongs to it (ISR-006).                           *)
IsState(s, brokers) ==
    /\ s.isr # {}
    /\ Brokers(s.isr) \subseteq brokers
    /\ s.leader \in Brokers(s.isr) \cup {NoBroker}

IsFirst(s) == s.leader_epoch = 0 /\ s.leader # NoBroker

Init == Exists => version = 0 /\ IsFirst(state) /\ IsState(state, assigned)

-----------------------------------------------------------------------------
(* The first state (TOP-001): a create, which fails where there is one       *)
(* (CTL-011).                                                                *)
CreateState ==
    /\ ~Exists
    /\ NoVersion \in decided_on
    /\ version' = 0
    /\ IsFirst(state')
    /\ state'.controller_epoch = controller_epoch

(* A write replaces the version on which it was decided, and no other        *)
(* (ZK-003). What a deposed controller decided has no effect (ZK-005).       *)
Replaces(versions) == Exists /\ version \in versions /\ version' = version + 1

(* A controller's decision raises the leader epoch by one (FAIL-004) and     *)
(* bears the epoch of the controller (CTL-006).                              *)
IsDecision ==
    /\ Replaces(decided_on)
    /\ state'.leader_epoch = state.leader_epoch + 1
    /\ state'.controller_epoch = controller_epoch

(* An election admits no member, and where it finds no leader it keeps all   *)
(* of them (FAIL-003). A step of a reassignment is one too: with the         *)
(* assignment it changes leader and ISR.                                     *)
ElectLeader ==
    /\ IsDecision
    /\ state'.isr \subseteq state.isr
    /\ state'.leader = NoBroker => state'.isr = state.isr

(* The exception (FAIL-002): a broker that is no member leads, alone, and    *)
(* the election says what that may cost.                                     *)
ElectOutsideIsr ==
    /\ IsDecision
    /\ Brokers(state'.isr) = {state'.leader}
    /\ is_loss_told'

(* A leader changes the ISR under its own epoch, and nothing else (ISR-003). *)
ChangeIsr ==
    /\ Replaces(asked_on)
    /\ state.leader # NoBroker
    /\ state'.isr # state.isr
    /\ state' = [state EXCEPT !.isr = state'.isr]
    /\ UNCHANGED assigned

(* The state goes with the assignment of its partition (TOP-002, PART-002).  *)
DeleteState == Exists /\ version' = NoVersion /\ assigned' = {}

Write == CreateState \/ ElectLeader \/ ElectOutsideIsr \/ ChangeIsr

(* The assignment changes beside it.                                         *)
Assign == UNCHANGED <<state, version>>

Step ==
    \/ (Write \/ Assign) /\ (version' # NoVersion => IsState(state', assigned'))
    \/ DeleteState

znode_vars == <<state, version, assigned>>

(* What `Spec` allows, as an action, for modules of many partitions.         *)
IsAllowed == Step \/ UNCHANGED znode_vars

Spec ==
    /\ Init
    /\ [][Step]_znode_vars
    /\ [][controller_epoch' > controller_epoch]_controller_epoch
=============================================================================
