----------------------------- MODULE TraceHeard -----------------------------
(* What each process has heard so far, and what it does next because of it.  *)
(* A process reacts in one step, so that the line of what it heard is        *)
(* followed by the line of its reaction: a trace in which that is missing is *)
(* not the trace of these processes. Only a process that ends owes nothing.  *)
EXTENDS TraceAssignment

VARIABLES
    acting,         \* per controller the epoch under which it acts, as far as it told
    versions_heard, \* per broker the versions of the state that it read or published
    followed,       \* per broker the controller that it knows
    epochs_sent,    \* per broker the largest controller epoch under which it was sent something
    refused,        \* per broker the commands that its floor forbade
    stops,          \* the StopReplicas that were sent, of any partition
    has_read,       \* per broker whether its process has read what is assigned to it
    topic_known,    \* per controller whether it knows the topic: "no", "yes", "maybe"
    bodies,         \* the metadata that were sent: [from, to, controller_epoch, metadata_version]
    taken,          \* per broker the newest of them that it took, and the version of the state in it
    configured,     \* changes of the configuration that took effect: <<broker, zxid>>
    owed            \* per broker the actions of which one must be its next; {} for any

heard_vars ==
    <<acting, versions_heard, followed, epochs_sent, refused, stops, has_read, topic_known,
      loss_vars, assignment_vars, bodies, taken, configured, owed>>

(* What a broker was told that has just begun. *)
NothingTaken ==
    [controller_epoch |-> 0, metadata_version |-> 0, znode_version |-> Metadata!NoVersion]

TraceInit ==
    /\ PastInit
    /\ LossInit
    /\ AssignmentInit
    /\ acting = [c \in Controllers |-> Metadata!NoEpoch]
    /\ versions_heard = [b \in Brokers |-> {}]
    /\ followed = [b \in Brokers |-> Metadata!NoBroker]
    /\ epochs_sent = [b \in Brokers |-> 0]
    /\ refused = [b \in Brokers |-> {}]
    /\ stops = {}
    /\ has_read = [b \in Brokers |-> FALSE]
    /\ topic_known = [c \in Controllers |-> "no"]
    /\ bodies = {}
    /\ taken = [b \in Brokers |-> NothingTaken]
    /\ configured = {}
    /\ owed = [b \in Brokers |-> {}]

(* Lines of ZooKeeper and of clients; all others are of a broker's process.  *)
OfTheWorld ==
    {"ZkRegister", "ZkUnregister", "ForgetOffice", "ZkElect", "ZkDismiss", "ZkWriteController",
     "ZkRaiseEpoch", "ZkCreateTopic", "ZkWriteState", "ZkMove", "ZkAssign", "ZkRequest",
     "ZkConfigure", "Acknowledge"}

-----------------------------------------------------------------------------
(* Brokers that were away, or are treated so *)

(* Whoever refuses such a command of its controller is treated as if it had  *)
(* been away, even if it never was.                                          *)
HaveRefused(c, state) ==
    {b \in Brokers :
        /\ HasVersion(floors[b])
        /\ PastState(floors[b]).leader_epoch >= state.leader_epoch - 1
        /\ \E m \in refused[b] :
              /\ m.from = c
              /\ m.controller_epoch = controllers[c].controller_epoch}

Bounced(c, version) ==
    WereAway(c, PastState(version)) \cup OtherIncarnations(c, version)
        \cup HaveRefused(c, PastState(version))

-----------------------------------------------------------------------------
(* Writes that a process asked for *)

(* The decision of a controller that has not given up its office. *)
IsDecision(c) ==
    /\ acting[c] # Metadata!NoEpoch
    /\ controllers[c].status = "active"
    /\ controllers[c].decision # <<>>
    /\ controllers[c].decision[1].state = StateOf(Event)
    /\ controllers[c].decision[1].expected_version = Event.expected_version

(* The core writes the controller epoch of the command that the leader obeyed *)
(* last, which is larger than the present one when a new controller has sent  *)
(* an old state again.                                                        *)
WishedState(b) == [Metadata!WantedState(b) EXCEPT !.controller_epoch = obeyed[b]]

IsWish(b) ==
    /\ IsLeading(b)
    /\ replicas[b].pending_isr # <<>>
    /\ WishedState(b) = StateOf(Event)
    /\ replicas[b].znode_version = Event.expected_version

-----------------------------------------------------------------------------
(* After a line *)

(* A write that took effect is published by its controller, or adopted by    *)
(* its leader, unless the one is not in office any more, or the other not    *)
(* the leader of that epoch.                                                 *)
DueOnWrite(b) ==
    IF IsDecision(b) THEN {"PublishDecision"} ELSE IF IsWish(b) THEN {"AdoptIsr"} ELSE {}

(* A leader that reads back what became of its write, and still waits for    *)
(* that: another's state, its own with a newer version, or the old one.      *)
DueOnReading(b) ==
    IF Event.asked_in # replicas[b].leader_epoch \/ ~IsLeading(b) THEN {}
    ELSE IF replicas[b].pending_isr = <<>> THEN {}
    ELSE IF Event.leader # b \/ Event.leader_epoch # replicas[b].leader_epoch THEN {"FenceLeader"}
    ELSE IF Event.znode_version = replicas[b].znode_version THEN {"WriteAsked"}
    ELSE {"AdoptIsr"}

(* A broker that reads of another controller gives up its own office, and    *)
(* knows that one from then on, unless that has changed since it asked.      *)
IsNews(b) == Event.controller_id \notin {b, followed[b]}
DueOnController(b) ==
    IF ~IsNews(b) THEN {}
    ELSE {"DiscardReading", IF acting[b] = Metadata!NoEpoch THEN "LearnController"
                            ELSE "ResignController"}

(* Where a person wrote the name, the broker may find it in a znode of its   *)
(* own, and reads once more when it has deleted that.                        *)
NoBrokers == 0
DueOnOffice ==
    {"LearnController"} \cup
        IF \E office \in offices : office.session_id = NoBrokers THEN {"ControllerAsked"} ELSE {}

Due ==
    CASE Is("WriteHeard") -> DueOnWrite(Event.broker_id)
      [] Is("ReadState") -> DueOnReading(Event.broker_id)
      [] Is("ControllerRead") -> DueOnController(Event.broker_id)
      [] Is("ElectController") /\ followed[Event.broker_id] # Event.broker_id -> {"LearnController"}
      [] Is("ResignController") /\ owed[Event.broker_id] # {} -> DueOnOffice
      [] OTHER -> {}

IsPaid ==
    IF Event.action \in OfTheWorld \cup Starts THEN TRUE
    ELSE IF owed[Event.broker_id] = {} THEN TRUE
    ELSE Event.action \in owed[Event.broker_id]

OwedNext ==
    IF Event.action \in OfTheWorld THEN owed
    ELSE IF owed[Event.broker_id] = Due THEN owed
    ELSE [owed EXCEPT ![Event.broker_id] = Due]

ActingNext ==
    CASE Is("ElectController") -> [acting EXCEPT ![Event.broker_id] = Event.controller_epoch]
      [] Event.action \in {"ResignController", "ForgetOffice", "NodeStarted"} ->
            [acting EXCEPT ![Event.broker_id] = Metadata!NoEpoch]
      [] OTHER -> acting

FollowedNext ==
    CASE Is("LearnController") -> [followed EXCEPT ![Event.broker_id] = Event.controller_id]
      [] Is("NodeStarted") -> [followed EXCEPT ![Event.broker_id] = Metadata!NoBroker]
      [] OTHER -> followed

VersionsHeardNext ==
    CASE Event.action \in {"ReadState", "PublishDecision"} ->
            [versions_heard EXCEPT ![Event.broker_id] = @ \cup {Event.znode_version}]
      [] Is("NodeStarted") -> [versions_heard EXCEPT ![Event.broker_id] = {}]
      [] OTHER -> versions_heard

Command(from, to) ==
    [from |-> from, to |-> to, place |-> 0, copy |-> 1,
     leader |-> Event.leader, leader_epoch |-> Event.leader_epoch, isr |-> Event.isr,
     znode_version |-> Event.znode_version, controller_epoch |-> Event.controller_epoch]

EpochsSentNext ==
    IF Event.action \in {"SendInit", "ControllerSends"} THEN [epochs_sent EXCEPT ![Event.peer] = Max({@, Event.controller_epoch})]
    ELSE epochs_sent

RefusedNext ==
    IF Is("RefuseCommand") /\ Event.error_code = "REPLICA_NOT_AVAILABLE"
    THEN [refused EXCEPT ![Event.broker_id] = @ \cup {Command(Event.controller_id, Event.broker_id)}]
    ELSE refused

Stop(from, to) ==
    [from |-> from, to |-> to, topic |-> Event.topic, partition |-> Event.partition,
     leader_epoch |-> Event.leader_epoch, controller_epoch |-> Event.controller_epoch]

StopsNext ==
    IF Is("SendStopReplica") THEN stops \cup {Stop(Event.broker_id, Event.peer)} ELSE stops

(* A process obeys and stands for election when it has read its assignment.  *)
HasReadNext ==
    CASE Is("ReadAssignment") -> [has_read EXCEPT ![Event.broker_id] = TRUE]
      [] Is("NodeStarted") -> [has_read EXCEPT ![Event.broker_id] = FALSE]
      [] OTHER -> has_read

(* A new controller reads all topics before it sends anything, and no line   *)
(* tells of that. What comes later it learns with a line, unless it is a      *)
(* partition of a topic that was there, which it adds itself.                *)
TopicKnownNext ==
    CASE Is("ElectController") -> [topic_known EXCEPT ![Event.broker_id] = "maybe"]
      [] Is("ZkCreateTopic") /\ Event.is_known -> [c \in Controllers |-> "maybe"]
      [] Is("DetectTopicChange") -> [topic_known EXCEPT ![Event.broker_id] = "yes"]
      [] Event.action \in {"SendInit", "ControllerSends"} ->
            IF topic_known[Event.broker_id] # "maybe" THEN topic_known
            ELSE [topic_known EXCEPT ![Event.broker_id] =
                    IF Metadata!Exists(znodes, Metadata!TopicPath) THEN "yes" ELSE "no"]
      [] OTHER -> topic_known

Body(from, to) ==
    [from |-> from, to |-> to, controller_epoch |-> Event.controller_epoch,
     metadata_version |-> Event.metadata_version]

BodiesNext ==
    IF Is("SendUpdateMetadata") THEN bodies \cup {Body(Event.broker_id, Event.peer)} ELSE bodies

(* A body is one line, and one for each partition that it tells otherwise.   *)
IsAboutPartition == Event.znode_version > Metadata!NoVersion

TakenNext ==
    CASE Is("UpdateMetadata") ->
            [taken EXCEPT ![Event.broker_id] =
                [controller_epoch |-> Event.controller_epoch,
                 metadata_version |-> Event.metadata_version,
                 znode_version |-> IF IsAboutPartition THEN Event.znode_version
                                   ELSE @.znode_version]]
      [] Is("NodeStarted") -> [taken EXCEPT ![Event.broker_id] = NothingTaken]
      [] OTHER -> taken

(* What no later line asks for leaves the state at a pause, as records do.   *)
ConfiguredNext ==
    LET kept == IF IsPause THEN {change \in configured : change[2] >= Pause.zxid} ELSE configured
    IN IF Is("ZkConfigure") THEN kept \cup {<<Event.broker_id, Event.zxid>>} ELSE kept

Hear ==
    /\ IsPaid
    /\ bodies' = BodiesNext
    /\ taken' = TakenNext
    /\ configured' = ConfiguredNext
    /\ LossStep
    /\ AssignmentStep
    /\ stops' = StopsNext
    /\ has_read' = HasReadNext
    /\ topic_known' = TopicKnownNext
    /\ epochs_sent' = EpochsSentNext
    /\ refused' = RefusedNext
    /\ owed' = OwedNext
    /\ acting' = ActingNext
    /\ versions_heard' = VersionsHeardNext
    /\ followed' = FollowedNext
=============================================================================
