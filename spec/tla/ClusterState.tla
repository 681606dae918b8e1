---------------------------- MODULE ClusterState ----------------------------
(* What `Cluster` acts on: one tree of znodes, several controllers, brokers  *)
(* with an epoch for each of their incarnations, and per partition a replica *)
(* and its log. A log belongs to an incarnation of the topic; the id of the  *)
(* topic stands for it, and a multi can check it (`TopicLifecycle`).         *)
EXTENDS Znodes, ReplicaLog, FiniteSets, TLC

CONSTANTS
    Brokers,            \* positive numbers
    Controllers,        \* positive numbers
    Partitions,         \* numbers, in the order in which a multi writes them
    FirstAssigned,      \* the first replicas of every partition, and its first ISR
    Targets,            \* sets of brokers that an administrator may ask for
    MinInsyncReplicas,  \* min.insync.replicas; every producer waits for all
    Limits,             \* how often each bounded thing may happen
    IsTime(_)           \* when a bounded thing may happen: what paces faults in a simulation

VARIABLES
    znodes,         \* the tree
    zxid,           \* of the last create; no other transaction needs a number
    controllers,    \* per controller what it knows and has in flight
    brokers,        \* per broker its process: whether it runs, and the epochs that it knows
    replicas,       \* per broker and partition what it believes
    logs,           \* per broker and partition its records and what it knows about offsets
    messages,       \* commands in flight: any may be late, overtaken or never arrive
    fetches,        \* answers to fetches in flight
    budget,         \* what is left of Limits
    committed,      \* history: records that were below a leader's high watermark
    acknowledged,   \* history: records that were acknowledged to their producer
    held,           \* history: which broker ever had which record
    breaches        \* history: acts that no rule allows

zookeeper_vars == <<znodes, zxid>>
broker_vars == <<brokers, replicas, logs>>
network_vars == <<messages, fetches>>
history_vars == <<committed, acknowledged, held, breaches>>
vars == <<zookeeper_vars, controllers, broker_vars, network_vars, budget, history_vars>>

NoBroker == -1
NoEpoch == -1
NoVersion == -1
NoTopic == 0
Unregistered == 0
Ended == 1000       \* the leader epoch of a stop that is for ever: above all others

ControllerPath == "/controller"
ControllerEpochPath == "/controller_epoch"
TopicPath == "/brokers/topics/t"
RequestPath == "/admin/reassign_partitions"
TopicIds == 1 .. Limits["topics"] + 1
TopicIdPaths == [id \in TopicIds |-> "/brokers/topics/t/id/" \o ToString(id)]
StatePaths == [p \in Partitions |-> "/brokers/topics/t/" \o ToString(p) \o "/leaderAndISR"]
BrokerPaths == [b \in Brokers |-> "/brokers/ids/" \o ToString(b)]
Paths == {ControllerPath, ControllerEpochPath, TopicPath, RequestPath}
         \cup {TopicIdPaths[id] : id \in TopicIds}
         \cup {StatePaths[p] : p \in Partitions}
         \cup {BrokerPaths[b] : b \in Brokers}

HasTopic == Exists(znodes, TopicPath)
Topic == znodes[TopicPath].data
TopicVersion == znodes[TopicPath].version
CurrentTopic == IF HasTopic THEN Topic.id ELSE NoTopic
HasState(p) == Exists(znodes, StatePaths[p])
State(p) == znodes[StatePaths[p]].data
StateVersion(p) == znodes[StatePaths[p]].version
IsRequested == Exists(znodes, RequestPath)
Request == znodes[RequestPath].data
Registrations == [b \in Brokers |-> znodes[BrokerPaths[b]].czxid]

Member(b, broker_epoch) == [broker |-> b, broker_epoch |-> broker_epoch]
MemberIds(isr) == {member.broker : member \in isr}

IsActive(c) == controllers[c].status = "active"
(* Its own /controller, not one that was created since.                      *)
InOffice(c) == IsActive(c) /\ znodes[ControllerPath].czxid = controllers[c].czxid

Records(b, p) == logs[b][p].records
EndOffset(b, p) == LogEndOffset(logs[b][p].records)
IsLeading(b, p) == replicas[b][p].role = "leader"

(* The broker that ZooKeeper names as leader of this incarnation, leading    *)
(* under its epoch.                                                          *)
IsActingLeader(b, p) ==
    /\ IsLeading(b, p)
    /\ HasState(p)
    /\ replicas[b][p].incarnation = CurrentTopic
    /\ State(p).leader = b
    /\ State(p).leader_epoch = replicas[b][p].leader_epoch

Spend(what) ==
    /\ budget[what] > 0
    /\ IsTime(what)
    /\ budget' = [budget EXCEPT ![what] = @ - 1]

Breached(invariant, actor, is_breached) ==
    IF is_breached THEN {[invariant |-> invariant, actor |-> actor]} ELSE {}

-----------------------------------------------------------------------------
(* The start: every broker is registered and has obeyed its first command,   *)
(* and the first controller is in office.                                    *)

StandingController ==
    [status |-> "standing", controller_epoch |-> 0, czxid |-> 0,
     view |-> [b \in Brokers |-> Unregistered], topic |-> NoTopic, to_stop |-> {},
     decision |-> <<>>, is_reply_lost |-> FALSE, to_tell |-> {}, is_stop_sent |-> FALSE]

NoReplica ==
    [role |-> "none", incarnation |-> NoTopic, leader |-> NoBroker, leader_epoch |-> NoEpoch,
     isr |-> {}, pending_isr |-> <<>>, is_reply_lost |-> FALSE, version |-> NoVersion]

NoOffset == [broker_epoch |-> Unregistered, offset |-> -1]
NoOffsets == [f \in Brokers |-> NoOffset]

EmptyLog(incarnation) ==
    [incarnation |-> incarnation, records |-> <<>>, high_watermark |-> 0, is_truncated |-> FALSE,
     epoch_start |-> 0, end_offsets |-> NoOffsets]

FirstController == Min(Controllers)
FirstLeader == Min(FirstAssigned)
FirstEpoch(b) == b      \* brokers register in the order of their ids
FirstIsr == {Member(b, FirstEpoch(b)) : b \in FirstAssigned}
FirstZxid == Max(Brokers) + 1

FirstState == [leader |-> FirstLeader, leader_epoch |-> 0, isr |-> FirstIsr, controller_epoch |-> 1]
NewTopic(id) ==
    [id |-> id, assigned |-> [p \in Partitions |-> FirstAssigned],
     adding |-> [p \in Partitions |-> {}], removing |-> [p \in Partitions |-> {}]]

FirstReplica(b) ==
    IF b \notin FirstAssigned THEN NoReplica
    ELSE [NoReplica EXCEPT
            !.role = IF b = FirstLeader THEN "leader" ELSE "follower", !.incarnation = 1,
            !.leader = FirstLeader, !.leader_epoch = 0, !.version = 0,
            !.isr = IF b = FirstLeader THEN FirstIsr ELSE {}]

Znode(data, version, owner, czxid) ==
    [data |-> data, version |-> version, ephemeral_owner |-> owner, czxid |-> czxid]

FirstZnode(path) ==
    CASE path = ControllerPath -> Znode(<<>>, 0, FirstController, FirstZxid)
      [] path = ControllerEpochPath -> Znode(1, 1, NoSession, 0)
      [] path = TopicPath -> Znode(NewTopic(1), 0, NoSession, 0)
      [] path = TopicIdPaths[1] -> Znode(<<>>, 0, NoSession, 0)
      [] path \in {StatePaths[p] : p \in Partitions} -> Znode(FirstState, 0, NoSession, 0)
      [] path \in {BrokerPaths[b] : b \in Brokers} ->
            LET b == CHOOSE b \in Brokers : BrokerPaths[b] = path
            IN Znode(<<>>, 0, b, FirstEpoch(b))
      [] OTHER -> Absent

Init ==
    /\ znodes = [path \in Paths |-> FirstZnode(path)]
    /\ zxid = FirstZxid
    /\ controllers = [c \in Controllers |->
                        IF c # FirstController THEN StandingController
                        ELSE [StandingController EXCEPT
                                !.status = "active", !.controller_epoch = 1, !.czxid = FirstZxid,
                                !.view = [b \in Brokers |-> FirstEpoch(b)], !.topic = 1]]
    /\ brokers = [b \in Brokers |->
                    [is_up |-> TRUE, broker_epoch |-> FirstEpoch(b), controller_epoch |-> 1]]
    /\ replicas = [b \in Brokers |-> [p \in Partitions |-> FirstReplica(b)]]
    /\ logs = [b \in Brokers |-> [p \in Partitions |->
                IF b \in FirstAssigned THEN [EmptyLog(1) EXCEPT !.is_truncated = TRUE]
                ELSE EmptyLog(NoTopic)]]
    /\ messages = {}
    /\ fetches = {}
    /\ budget = Limits
    /\ committed = {}
    /\ acknowledged = {}
    /\ held = {}
    /\ breaches = {}
=============================================================================
