--------------------------- MODULE TraceMetadata ----------------------------
(* What each line about ZooKeeper, controllers and commands says, as a step  *)
(* of the spec with the line's fields. A write takes effect at its zxid; the *)
(* line of its author is when that author heard of it.                       *)
EXTENDS TraceHeard

-----------------------------------------------------------------------------
(* ZooKeeper's own lines *)

Viewed ==
    [c \in Controllers |->
        IF controllers[c].status = "active"
        THEN Append(views[c], View(BrokerEpochs(registrations', Metadata!Registered')))
        ELSE views[c]]

(* What no broker writes. *)
IsByHand == Event.broker_id = NoBrokers

Unmoved ==
    /\ UNCHANGED belief_vars
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

ZkRegister ==
    LET written == Metadata!Apply(<<Metadata!CreateOp(Metadata!BrokerPath(Event.broker_id), <<>>,
                                                      Event.broker_id)>>)
    IN /\ Is("ZkRegister")
       /\ written.ok
       /\ znodes' = written.tree
       /\ registrations' = registrations \cup
            {[broker_id |-> Event.broker_id, session_id |-> Event.session_id, zxid |-> Event.zxid]}
       /\ views' = Viewed
       /\ failures' = IF failures[Event.broker_id] # "before" THEN failures
                      ELSE [failures EXCEPT ![Event.broker_id] = "none"]
       /\ UNCHANGED <<controllers, replicas, messages, breaches>>
       /\ UNCHANGED <<past, topics, offices, live_epochs, departures, floors>>
       /\ UNCHANGED record_vars

ZkUnregister ==
    LET b == Event.broker_id
    IN /\ Is("ZkUnregister")
       /\ Metadata!Exists(znodes, Metadata!BrokerPath(b))
       /\ znodes' = [znodes EXCEPT ![Metadata!BrokerPath(b)] = Metadata!Absent]
       /\ UNCHANGED <<past, topics, offices, registrations, live_epochs, departures, floors, failures>>
       /\ views' = Viewed
       /\ UNCHANGED <<controllers, replicas, messages, breaches>>
       /\ UNCHANGED record_vars

(* Before a broker is elected again it has given up an office of which it    *)
(* never heard, or the end of which it was too busy to write down.           *)
ForgetOffice ==
    LET c == Event.broker_id
    IN /\ Is("ForgetOffice")
       /\ IF controllers[c].status = "standing" THEN UNCHANGED belief_vars
          ELSE Metadata!ResignController(c)
       /\ UNCHANGED history_vars
       /\ UNCHANGED record_vars

ZkElect ==
    LET c == Event.broker_id
    IN /\ Is("ZkElect")
       /\ Metadata!ElectController(c)
       /\ Metadata!CurrentControllerEpoch' = Event.controller_epoch
       /\ offices' = offices \cup
            {[controller_id |-> c, controller_epoch |-> Event.controller_epoch,
              session_id |-> Event.session_id]}
       /\ views' = [views EXCEPT ![c] = <<View(BrokerEpochs(registrations, Metadata!Registered))>>]
       /\ live_epochs' = [live_epochs EXCEPT ![c] = NotSeen]
       /\ departures' = [departures EXCEPT ![c] = NoneLeft]
       /\ UNCHANGED <<past, topics, registrations, floors, failures>>
       /\ UNCHANGED record_vars

(* With its session, or by its own hand; what is no broker's any broker may  *)
(* remove, and a person what there is.                                       *)
ZkDismiss ==
    /\ Is("ZkDismiss")
    /\ Metadata!Exists(znodes, Metadata!ControllerPath)
    /\ IsByHand \/ znodes[Metadata!ControllerPath].ephemeral_owner \in
                        {Event.broker_id, Metadata!NoSession}
    /\ znodes' = [znodes EXCEPT ![Metadata!ControllerPath] = Metadata!Absent]
    /\ UNCHANGED <<controllers, replicas, messages, breaches>>
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

(* A person names a controller, over what is there or where nothing is. The  *)
(* multi that elects writes /controller twice, which in the spec is version  *)
(* 0: what a person makes is another one.                                    *)
AsLogged(version) == IF version \in {0, 1} THEN 1 - version ELSE version

ZkWriteController ==
    LET there == znodes[Metadata!ControllerPath]
        is_there == Metadata!Exists(znodes, Metadata!ControllerPath)
    IN /\ Is("ZkWriteController")
       /\ IsByHand
       /\ Event.znode_version = IF is_there THEN AsLogged(there.version) + 1 ELSE 0
       /\ znodes' = [znodes EXCEPT ![Metadata!ControllerPath] =
                        [there EXCEPT !.data = <<Event.controller_id>>,
                                      !.version = AsLogged(Event.znode_version)]]
       /\ offices' = offices \cup
            {[controller_id |-> Event.controller_id,
              controller_epoch |-> Metadata!CurrentControllerEpoch, session_id |-> NoBrokers]}
       /\ UNCHANGED <<controllers, replicas, messages, breaches>>
       /\ UNCHANGED <<past, topics, registrations, live_epochs, departures, floors, failures, views>>
       /\ UNCHANGED record_vars

(* A person writes the epoch, as it is or larger. In the spec an epoch is    *)
(* the version of its znode; `spec/replay` counts so.                        *)
ZkRaiseEpoch ==
    LET raised == Metadata!CurrentControllerEpoch + 1
    IN /\ Is("ZkRaiseEpoch")
       /\ IsByHand
       /\ raised = Event.znode_version + 1
       /\ znodes' = Metadata!Apply(<<Metadata!SetDataOp(Metadata!ControllerEpochPath, raised,
                                                        Metadata!AnyVersion)>>).tree
       /\ offices' = offices \cup
            {[office EXCEPT !.controller_epoch = raised, !.session_id = NoBrokers] :
                office \in {office \in offices : office.controller_epoch = raised - 1}}
       /\ UNCHANGED <<controllers, replicas, messages, breaches>>
       /\ UNCHANGED <<past, topics, registrations, live_epochs, departures, floors, failures, views>>
       /\ UNCHANGED record_vars

ZkCreateTopic ==
    /\ Is("ZkCreateTopic")
    /\ Metadata!CreateTopic
    /\ Event.adding = {} /\ Event.removing = {}
    /\ topics' = topics \cup {Event.zxid}
    /\ UNCHANGED <<past, offices, registrations, live_epochs, departures, floors, failures, views>>
    /\ UNCHANGED record_vars

(* As LoseLeaderReply, with the state that the core writes.                  *)
LeaderWrite(b) ==
    LET written == Metadata!Apply(<<Metadata!SetDataOp(Metadata!StatePath, WishedState(b),
                                                       replicas[b].znode_version)>>)
    IN /\ IsLeading(b)
       /\ replicas[b].pending_isr # <<>>
       /\ ~replicas[b].is_reply_lost
       /\ written.ok
       /\ znodes' = written.tree
       /\ replicas' = [replicas EXCEPT ![b].is_reply_lost = TRUE]
       /\ Metadata!Breach("OnlyAuthorisedWrites", b, ~Metadata!IsEntitled(b))
       /\ UNCHANGED <<controllers, messages>>

(* ZooKeeper holds a new state; until its author hears that, this is a lost  *)
(* reply.                                                                    *)
HoldsFromNow(assigned) ==
    /\ Metadata!State' = StateOf(Event)
    /\ Metadata!StateVersion' = Event.znode_version
    /\ past' = Append(past, [state |-> StateOf(Event), zxid |-> Event.zxid,
                            isr_broker_epochs |-> Event.isr_broker_epochs,
                            assigned |-> assigned])
    /\ UNCHANGED <<topics, offices, registrations, live_epochs, departures, floors, failures, views>>

ZkWriteState ==
    /\ Is("ZkWriteState")
    /\ \/ /\ Event.broker_id \in Controllers
          /\ ~IsMoving(Event.broker_id)
          /\ Metadata!LoseControllerReply(Event.broker_id)
       \/ /\ Event.broker_id \in Brokers
          /\ LeaderWrite(Event.broker_id)
    /\ HoldsFromNow(Assigned)
    /\ LoseRecords

(* A step of a move: state and topic at once, as its controller decided.     *)
ZkMove ==
    /\ Is("ZkMove")
    /\ Event.topic_version = Len(assignments)
    /\ IsPlanned(Event.broker_id, TRUE)
    /\ Metadata!LoseControllerReply(Event.broker_id)
    /\ HoldsFromNow(Members(Event.assigned))
    /\ LoseRecords

(* The topic without the state: as it was, for it is about other partitions, *)
(* or as a controller decided.                                               *)
ZkAssign ==
    /\ Is("ZkAssign")
    /\ Event.topic_version = Len(assignments)
    /\ Holding(ToldAssignment = Assignment \/ IsPlanned(Event.broker_id, FALSE))
    /\ Unmoved

(* What is asked for below /admin is written and taken back.                 *)
ZkRequest ==
    /\ Is("ZkRequest")
    /\ Event.is_there \/ Replaced(ToldRequest) # {}
    /\ Unmoved

-----------------------------------------------------------------------------
(* What a broker read and wrote there *)

(* With another session the office of the one before has been given up.      *)
RegisterBrokerHeard ==
    LET b == Event.broker_id
    IN /\ Is("RegisterBroker")
       /\ [broker_id |-> b, session_id |-> Event.session_id, zxid |-> Event.zxid] \in registrations
       /\ acting[b] = Metadata!NoEpoch
       /\ replicas' = IF replicas[b].role = "starting" THEN [replicas EXCEPT ![b].role = "idle"]
                      ELSE replicas
       /\ UNCHANGED <<znodes, controllers, messages, breaches>>
       /\ UNCHANGED history_vars
       /\ UNCHANGED record_vars

CreateTopicHeard ==
    /\ Is("CreateTopic")
    /\ Metadata!Exists(znodes, Metadata!TopicPath)
    /\ UNCHANGED belief_vars
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

(* Of all its partitions, once it is registered and before it obeys any.     *)
ReadAssignmentHeard ==
    /\ Is("ReadAssignment")
    /\ replicas[Event.broker_id].role = "idle"
    /\ UNCHANGED belief_vars
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

(* A starting broker takes what it reads as a floor, the second half of      *)
(* RegisterBroker; it obeys no command before.                               *)
ReadState ==
    LET b == Event.broker_id
    IN /\ Is("ReadState")
       /\ HasVersion(Event.znode_version)
       /\ PastState(Event.znode_version) = StateOf(Event)
       /\ Event.is_start => replicas[b].role = "idle" /\ has_read[b]
       /\ replicas' = IF ~Event.is_start THEN replicas
                      ELSE [replicas EXCEPT ![b].leader_epoch = Event.leader_epoch,
                                            ![b].znode_version = Event.znode_version,
                                            ![b].heard = Metadata!Heard(b, Event.leader_epoch, 0)]
       /\ floors' = IF Event.is_start THEN [floors EXCEPT ![b] = Event.znode_version] ELSE floors
       /\ UNCHANGED <<znodes, controllers, messages, breaches>>
       /\ UNCHANGED <<past, topics, offices, registrations, live_epochs, departures, failures, views>>
       /\ UNCHANGED record_vars

(* A controller asks for what it decided, a leader for the ISR that it wants. *)
WriteAsked ==
    /\ Is("WriteAsked")
    /\ Holding(IsDecision(Event.broker_id) \/ IsWish(Event.broker_id))
    /\ UNCHANGED belief_vars
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

WriteHeard ==
    /\ Is("WriteHeard")
    /\ HasVersion(Event.znode_version)
    /\ PastState(Event.znode_version) = StateOf(Event)
    /\ past[Event.znode_version + 1].zxid = Event.zxid
    /\ UNCHANGED belief_vars
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

(* That it reads which broker is controller, and what it finds: maybe out of *)
(* date when it is heard.                                                    *)
ControllerAsked ==
    /\ Is("ControllerAsked")
    /\ has_read[Event.broker_id]
    /\ UNCHANGED belief_vars
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

ControllerRead ==
    /\ Is("ControllerRead")
    /\ Holding(\/ Event.controller_id = Metadata!NoBroker
               \/ \E office \in offices : office.controller_id = Event.controller_id)
    /\ UNCHANGED belief_vars
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

(* What is read may be out of date when it is heard: any epoch between the   *)
(* one known and the present one. The two znodes are read one after the      *)
(* other, so that the holder may be of the epoch before.                     *)
LearnControllerHeard ==
    LET b == Event.broker_id
        known == replicas[b].controller_epoch
        learnt == Event.controller_epoch
        is_holder == \E office \in offices :
                        /\ office.controller_id = Event.controller_id
                        /\ office.controller_epoch <= learnt
                        /\ learnt > known => office.controller_epoch >= learnt - 1
    IN /\ Is("LearnController")
       /\ replicas[b].role \notin {"down", "starting"}
       /\ learnt \in known .. Metadata!CurrentControllerEpoch
       /\ Holding(Event.controller_id = Metadata!NoBroker \/ is_holder)
       /\ replicas' = [replicas EXCEPT
                            ![b].controller_epoch = learnt,
                            ![b].heard = Metadata!Heard(b, Metadata!NoEpoch, learnt)]
       /\ UNCHANGED <<znodes, controllers, messages, breaches>>
       /\ UNCHANGED history_vars
       /\ UNCHANGED record_vars

-----------------------------------------------------------------------------
(* Controllers *)

IsElected(c) ==
    /\ controllers[c].status = "active"
    /\ controllers[c].controller_epoch = Event.controller_epoch

(* It has heard that it was elected. *)
IsActive(c) == IsElected(c) /\ acting[c] = Event.controller_epoch

ElectControllerHeard ==
    /\ Is("ElectController")
    /\ Event.controller_id = Event.broker_id
    /\ IsElected(Event.broker_id)
    /\ [controller_id |-> Event.controller_id, controller_epoch |-> Event.controller_epoch,
        session_id |-> Event.session_id] \in offices
    /\ UNCHANGED belief_vars
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

(* It may resign before ZooKeeper ends its session: it then forgets earlier  *)
(* than it must.                                                             *)
ResignControllerSeen ==
    LET c == Event.broker_id
    IN /\ Is("ResignController")
       /\ Event.controller_id = c
       /\ IsActive(c)
       /\ controllers' = [controllers EXCEPT ![c] = Metadata!IdleController]
       /\ UNCHANGED <<znodes, replicas, messages, breaches>>
       /\ UNCHANGED history_vars
       /\ UNCHANGED record_vars

DetectBrokerChangeSeen ==
    LET c == Event.broker_id
        live == Event.broker_epochs
        first == FirstView(c, live)
        known == {entry[1] : entry \in live_epochs[c]}
        back == {entry[1] : entry \in {e \in live \ live_epochs[c] : e[1] \in known}}
        away == back \cup (known \ {entry[1] : entry \in live})
    IN /\ Is("DetectBrokerChange")
       /\ IsActive(c)
       /\ first \in DOMAIN views[c]
       /\ Event.live_brokers = {entry[1] : entry \in live}
       /\ controllers' = [controllers EXCEPT ![c].live_brokers = Event.live_brokers]
       /\ views' = [views EXCEPT ![c] = SubSeq(@, first, Len(@))]
       /\ live_epochs' = [live_epochs EXCEPT ![c] = live]
       /\ departures' = [departures EXCEPT ![c] =
                            [b \in Brokers |-> IF b \in away THEN LatestLeaderEpoch ELSE @[b]]]
       /\ UNCHANGED <<znodes, replicas, messages, breaches>>
       /\ UNCHANGED <<past, topics, offices, registrations, floors, failures>>
       /\ UNCHANGED record_vars

(* The topic has been created, in that transaction. *)
DetectTopicChangeSeen ==
    /\ Is("DetectTopicChange")
    /\ IsActive(Event.broker_id)
    /\ Event.zxid \in topics
    /\ UNCHANGED belief_vars
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

(* The controller lets go a broker that is registered as it knows (BEP-005). *)
(* From then on it is as one with a failed log: no leader, and no member, as *)
(* long as another could lead.                                               *)
ObeyShutdownSeen ==
    LET c == Event.broker_id
        b == Event.peer
    IN /\ Is("ObeyShutdown")
       /\ IsActive(c)
       /\ live_epochs[c] # NotSeen
       /\ b \in Brokers => <<b, Event.broker_epoch>> \in live_epochs[c]
       /\ failures' = IF b \notin Brokers \/ failures[b] # "none" THEN failures
                      ELSE [failures EXCEPT ![b] = "leaves"]
       /\ UNCHANGED belief_vars
       /\ UNCHANGED <<past, topics, offices, registrations, live_epochs, departures, floors, views>>
       /\ UNCHANGED record_vars

(* A decision that was not published gives way to the next one when it can   *)
(* no longer take effect, or not together with that. What is decided again   *)
(* is the decision with the lost reply.                                      *)
IsFreeFor(c, expected_version) ==
    IF controllers[c].decision = <<>> \/ controllers[c].is_reply_lost THEN TRUE
    ELSE IF controllers[c].decision[1].expected_version = expected_version THEN TRUE
    ELSE ~Metadata!DecisionWrite(c).ok

Decide(c) ==
    /\ IsActive(c)
    /\ live_epochs[c] # NotSeen
    /\ IsFreeFor(c, Event.expected_version)
    /\ LET decided == Metadata!Decided(c, Event.leader, Event.leader_epoch, Event.isr,
                                       Event.expected_version, FALSE)
           is_again == decided[c].decision = controllers[c].decision
       IN controllers' = [decided EXCEPT ![c].is_reply_lost = @ /\ is_again]
    /\ UNCHANGED <<znodes, replicas, messages, breaches>>
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

(* As InitLeader, but on what was read some time ago, since a create that    *)
(* comes late is refused; of the live replicas the first leads (TOP-001).    *)
InitLeaderSeen ==
    LET c == Event.broker_id
        known == controllers[c].live_brokers \cap Members(Event.assigned_replicas)
        staying == {b \in known : failures[b] # "leaves"}
        alive == IF Event.isr = staying THEN staying ELSE known
        preferred == SelectSeq(Event.assigned_replicas, LAMBDA b : b \in alive)
    IN /\ Is("InitLeader")
       /\ Metadata!Exists(znodes, Metadata!TopicPath)
       /\ topic_known[c] # "no"
       /\ WasAssigned(Event.assigned_replicas)
       /\ Event.expected_version = Metadata!NoVersion
       /\ Event.leader_epoch = 0
       /\ Event.isr = alive
       /\ alive # {}
       /\ Event.leader = preferred[1]
       /\ Decide(c)

(* A leader outside the ISR leads alone, and only if no member was there     *)
(* when its controller looked, which was after it had read the state.        *)
IsOutsider(c, state) ==
    /\ Event.is_unclean
    /\ ~Event.is_loss_possible
    /\ Event.isr = {Event.leader}
    /\ Event.leader \in Assigned
    /\ \E i \in DOMAIN views[c] :
          LET there == {entry[1] : entry \in views[c][i].live}
          IN /\ IsLaterView(c, i, Event.expected_version)
             /\ Event.leader \in there
             /\ there \cap state.isr \subseteq HaveFailed

(* A member that was away leads alone, and its decision says so; where that  *)
(* is allowed, as one of a leader outside the ISR does.                      *)
TellsLoss(c, state) ==
    IF Event.is_loss_possible
    THEN /\ Event.leader # Metadata!NoBroker
         /\ Event.isr = {Event.leader}
         /\ \/ state.leader = Metadata!NoBroker
            \/ Event.leader \in Bounced(c, Event.expected_version)
    ELSE /\ ~Event.is_unclean
         /\ state.leader = Metadata!NoBroker => Event.leader = Metadata!NoBroker

(* That a person asked for; then its line does not tell the assignment.      *)
IsAsked == Event.assigned_replicas = <<>> /\ Requests("leader_election") # {}

(* The first of the assigned replicas leads, and the ISR stays.              *)
IsPreferred(c, state) ==
    /\ IsAsked
    /\ Event.isr = state.isr
    /\ Event.leader \in (state.isr \cap controllers[c].live_brokers) \ {state.leader}
    /\ ~Event.is_unclean \/ Event.is_loss_possible
    /\ \E i \in DOMAIN assignments :
          assignments[i].assigned # <<>> /\ assignments[i].assigned[1] = Event.leader

(* As ElectLeader, but on the state of the expected version, which may have  *)
(* been replaced since: then the write is refused.                           *)
ElectLeaderSeen ==
    LET c == Event.broker_id
        state == PastState(Event.expected_version)
        alive == state.isr \cap controllers[c].live_brokers
    IN /\ Is("ElectLeader")
       /\ HasVersion(Event.expected_version)
       /\ Event.leader_epoch = state.leader_epoch + 1
       /\ Holding(IsAsked \/ WasAssigned(Event.assigned_replicas))
       /\ IF Event.leader \notin state.isr \cup {Metadata!NoBroker}
          THEN Holding(IsOutsider(c, state))
          ELSE Holding(TellsLoss(c, state) \/ IsPreferred(c, state))
       /\ IF Event.leader \notin state.isr \cup {Metadata!NoBroker} THEN TRUE
          ELSE IF IsPreferred(c, state) THEN TRUE
          ELSE IF Event.leader = Metadata!NoBroker
          THEN /\ alive \subseteq HaveFailed
               /\ Event.isr = state.isr
               /\ state.leader # Metadata!NoBroker
          ELSE /\ Event.leader \in Event.isr
               /\ Event.isr \subseteq alive
               /\ \/ alive \ Event.isr \subseteq Bounced(c, Event.expected_version) \cup HaveFailed
                  \/ state.leader = Metadata!NoBroker /\ Event.isr = {Event.leader}
               /\ state.leader \in Event.isr => Event.leader = state.leader
               /\ Holding(\/ Event.leader # state.leader
                          \/ Event.isr # state.isr
                          \/ Event.isr \cap Bounced(c, Event.expected_version) # {})
       /\ Decide(c)

(* The next step of a move, on the state and a version of the topic that its *)
(* controller has read. A leader that stays a member leads on.               *)
AdvanceReassignmentSeen ==
    LET c == Event.broker_id
        state == PastState(Event.expected_version)
    IN /\ Is("AdvanceReassignment")
       /\ HasVersion(Event.expected_version)
       /\ Event.leader_epoch = state.leader_epoch + 1
       /\ Event.leader \in Event.isr
       /\ state.leader \in Event.isr => Event.leader = state.leader
       /\ AdvancePlans(state.isr) # {}
       /\ Decide(c)

(* A change of the topic alone, or the end of what was asked for.            *)
PlanSeen ==
    LET c == Event.broker_id
    IN /\ CASE Is("CompleteReassignment") -> CompletePlans(HaveGone(c)) # {}
            [] Is("AddPartitions") -> AddPlans # {}
            [] Is("RemovePartitions") ->
                    RemovePlans # {} /\ (past = <<>> \/ HasVersion(Event.expected_version))
            [] OTHER -> FALSE
       /\ IsActive(c)
       /\ Unmoved

(* The broker has written, or taken back, what a client asked it for.        *)
RequestHeard ==
    LET has(kinds) ==
            \E request \in ever_asked :
                request.kind \in kinds /\ request.replicas = Event.assigned_replicas
    IN /\ CASE Is("StartReassignment") -> has({Moving})
            [] Is("RequestPartitions") -> has({"partitions_add", "partitions_remove"})
            [] Is("CancelReassignment") -> Requests(Moving) # {}
            [] OTHER -> FALSE
       /\ Unmoved

(* The author hears that its write took effect; another may have replaced it *)
(* since.                                                                    *)
PublishDecisionHeard ==
    LET c == Event.broker_id
        version == Event.znode_version
    IN /\ Is("PublishDecision")
       /\ controllers[c].decision # <<>>
       /\ controllers[c].is_reply_lost
       /\ controllers[c].decision[1].state = StateOf(Event)
       /\ controllers[c].decision[1].expected_version + 1 = version
       /\ HasVersion(version)
       /\ PastState(version) = StateOf(Event)
       /\ Event.zxid \in {0, past[version + 1].zxid}
       /\ controllers' = [controllers EXCEPT ![c] = Metadata!ForgetDecision(c)]
       /\ UNCHANGED <<znodes, replicas, messages, breaches>>
       /\ UNCHANGED history_vars
       /\ UNCHANGED record_vars

(* To one broker, and again until it is answered. What is sent is what       *)
(* ZooKeeper held at that version, which the controller has read or written. *)
SendLeaderAndIsrSeen ==
    /\ Is("SendLeaderAndIsr")
    /\ IsActive(Event.broker_id)
    /\ Event.peer \in Brokers
    /\ Event.znode_version \in versions_heard[Event.broker_id]
    /\ LET state == PastState(Event.znode_version)
       IN /\ Event.leader = state.leader
          /\ Event.leader_epoch = state.leader_epoch
          /\ Event.isr = state.isr
    /\ messages' = messages \cup {Command(Event.broker_id, Event.peer)}
    /\ UNCHANGED <<znodes, controllers, replicas, breaches>>
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

(* Something about another partition, or about all that a broker has.        *)
ControllerSendsSeen ==
    /\ Event.action \in {"SendInit", "SendStopReplica", "SendUpdateMetadata", "ControllerSends"}
    /\ IsActive(Event.broker_id)
    /\ Event.peer \in Brokers
    /\ UNCHANGED belief_vars
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

(* The replica goes with its log: it is no member of the ISR.                *)
GiveUp(b, replica) ==
    /\ Metadata!Exists(znodes, Metadata!StatePath) => b \notin Metadata!State.isr
    /\ replicas' = [replicas EXCEPT ![b] = replica]
    /\ logs' = [logs EXCEPT ![b] = [records |-> <<>>, high_watermark |-> 0, is_truncated |-> FALSE,
                                    epoch_start |-> 0, end_offsets |-> NoEndOffsets]]
    /\ tenures' = EndedTenures(b, Records(b))
    /\ agreed' = [agreed EXCEPT ![b] = 0]
    /\ UNCHANGED <<znodes, controllers, messages, breaches, obeyed, requests, committed_log>>
    /\ UNCHANGED history_vars

(* Of any partition: it was sent, and tells of the epoch of its controller.  *)
StopReplicaSeen ==
    LET b == Event.broker_id
        told == Event.controller_epoch
    IN /\ Is("StopReplica")
       /\ has_read[b]
       /\ \E stop \in stops : stop = Stop(stop.from, b)
       /\ told >= replicas[b].controller_epoch
       /\ LET heard == [controller_epoch |-> told,
                        heard |-> Metadata!Heard(b, Metadata!NoEpoch, told)]
          IN IF Event.is_own
             THEN /\ Event.leader_epoch >= replicas[b].leader_epoch
                  /\ GiveUp(b, [Metadata!StoppedReplica("idle") EXCEPT
                                    !.leader_epoch = Event.leader_epoch,
                                    !.controller_epoch = heard.controller_epoch,
                                    !.heard = heard.heard])
             ELSE /\ replicas' = [replicas EXCEPT
                                    ![b].controller_epoch = heard.controller_epoch,
                                    ![b].heard = heard.heard]
                  /\ UNCHANGED <<znodes, controllers, messages, breaches>>
                  /\ UNCHANGED history_vars
                  /\ UNCHANGED record_vars

(* What a broker finds at its start, and the first request of a controller   *)
(* does not name, it gives up as well.                                       *)
GivesUpSeen ==
    LET b == Event.broker_id
        kept == [Metadata!StoppedReplica("idle") EXCEPT
                    !.leader_epoch = replicas[b].leader_epoch,
                    !.controller_epoch = replicas[b].controller_epoch,
                    !.heard = replicas[b].heard]
    IN /\ Event.action \in {"ObeyInit", "RecoverReplicas"}
       /\ has_read[b]
       /\ \E i \in DOMAIN assignments : b \notin Members(assignments[i].assigned)
       /\ GiveUp(b, kept)

-----------------------------------------------------------------------------
(* What a process does not act upon *)

(* What is refused was meant for a registration of this broker, if for any.  *)
NamesNoOther(b) ==
    Event.broker_epoch \in {0} \cup {r.zxid : r \in {r \in registrations : r.broker_id = b}}

(* It is meant for the broker as it was registered before (BEP-002), or made *)
(* when no broker had registered since (BEP-003).                            *)
IsForEarlierStart(b) ==
    \E r \in registrations :
        r.broker_id = b /\ r.zxid > Max({Event.broker_epoch, Event.max_broker_epoch})

(* By what it knows, or has been sent; a broker that has not read what there *)
(* is, or has not heard of the registration that an INIT is for, obeys none. *)
IsRefused(b, command) ==
    CASE Event.error_code = "STALE_CONTROLLER_EPOCH" ->
            /\ Metadata!RaisedControllerEpoch > Metadata!CurrentControllerEpoch
            /\ command.controller_epoch < Max({replicas[b].controller_epoch, epochs_sent[b]})
      [] Event.error_code = "STALE_LEADER_EPOCH" ->
            /\ replicas[b].role \in {"idle", "follower", "leader", "fenced"}
            /\ command.leader_epoch <= replicas[b].leader_epoch
            /\ replicas[b].role = "idle" => command.leader_epoch < replicas[b].leader_epoch
      [] Event.error_code = "REPLICA_NOT_AVAILABLE" ->
            /\ replicas[b].role = "idle"
            /\ HasVersion(floors[b])
            /\ IsBelowFloor(b, command)
      [] Event.error_code = "STALE_BROKER_EPOCH" -> IsForEarlierStart(b)
      [] Event.error_code = "STORAGE_ERROR" -> failures[b] = "now"
      [] Event.error_code = "BROKER_NOT_AVAILABLE" -> replicas[b].role # "down"
      [] OTHER -> FALSE

RefuseCommandSeen ==
    LET b == Event.broker_id
        command == Command(Event.controller_id, b)
    IN /\ Is("RefuseCommand")
       /\ command \in messages
       /\ NamesNoOther(b)
       /\ Holding(IsRefused(b, command))
       /\ UNCHANGED belief_vars
       /\ UNCHANGED history_vars
       /\ UNCHANGED record_vars

(* What the broker has of another partition the replay does not know. *)
IsStopRefused(b) ==
    CASE Event.error_code = "STALE_CONTROLLER_EPOCH" ->
            /\ Metadata!RaisedControllerEpoch > Metadata!CurrentControllerEpoch
            /\ Event.controller_epoch < Max({replicas[b].controller_epoch, epochs_sent[b]})
      [] Event.error_code = "STALE_LEADER_EPOCH" ->
            has_read[b] /\ Event.controller_epoch >= replicas[b].controller_epoch
      [] Event.error_code = "BROKER_NOT_AVAILABLE" -> ~has_read[b]
      [] Event.error_code = "STALE_BROKER_EPOCH" -> IsForEarlierStart(b)
      [] OTHER -> FALSE

RefuseStopSeen ==
    LET b == Event.broker_id
    IN /\ Is("RefuseStop")
       /\ NamesNoOther(b)
       /\ Stop(Event.controller_id, b) \in stops
       /\ Holding(IsStopRefused(b))
       /\ UNCHANGED belief_vars
       /\ UNCHANGED history_vars
       /\ UNCHANGED record_vars

DiscardReading ==
    /\ Is("DiscardReading")
    /\ UNCHANGED belief_vars
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

MetadataStep ==
    \/ ZkRegister
    \/ ZkUnregister
    \/ ForgetOffice
    \/ ZkElect
    \/ ZkDismiss
    \/ ZkWriteController
    \/ ZkRaiseEpoch
    \/ ZkCreateTopic
    \/ ZkWriteState
    \/ ZkMove
    \/ ZkAssign
    \/ ZkRequest
    \/ RegisterBrokerHeard
    \/ CreateTopicHeard
    \/ ReadAssignmentHeard
    \/ ReadState
    \/ WriteAsked
    \/ WriteHeard
    \/ ControllerAsked
    \/ ControllerRead
    \/ LearnControllerHeard
    \/ ElectControllerHeard
    \/ ResignControllerSeen
    \/ DetectBrokerChangeSeen
    \/ DetectTopicChangeSeen
    \/ ObeyShutdownSeen
    \/ InitLeaderSeen
    \/ ElectLeaderSeen
    \/ AdvanceReassignmentSeen
    \/ PlanSeen
    \/ RequestHeard
    \/ PublishDecisionHeard
    \/ SendLeaderAndIsrSeen
    \/ ControllerSendsSeen
    \/ StopReplicaSeen
    \/ GivesUpSeen
    \/ RefuseCommandSeen
    \/ RefuseStopSeen
    \/ DiscardReading
=============================================================================
