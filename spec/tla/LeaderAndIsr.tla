---------------------------- MODULE LeaderAndIsr ----------------------------
(* The leader of a partition: controllers, the LeaderAndISR znode, the       *)
(* commands, and what each broker believes. One partition, no records:       *)
(* `Replication` composes these actions with logs.                           *)
(*                                                                           *)
(* A broker's two parts, replica and candidate controller, are modelled as   *)
(* separate processes. All they share is a crash, which is two faults here.  *)
(* Sessions are worst case: a process goes on after its session expired, and *)
(* its writes still reach ZooKeeper under a later session, so that only      *)
(* versions and epochs protect the znode, never the session.                 *)
EXTENDS Decisions

-----------------------------------------------------------------------------
(* Brokers come, go and are told about topics *)

IsStateRead == Exists(znodes, StatePath)

(* A process that runs without registration gets a session and registers. A  *)
(* starting one then reads the state of its partition before it obeys any    *)
(* command: a late command from before its crash is older than what it read. *)
(* Waiting for the old session to end (START-005) is the create that fails.  *)
RegisterBroker(b) ==
    LET written == Apply(<<CreateOp(BrokerPath(b), <<>>, b)>>)
    IN /\ replicas[b].role # "down"
       /\ written.ok
       /\ znodes' = written.tree
       /\ replicas' = IF replicas[b].role # "starting" THEN replicas
                      ELSE [replicas EXCEPT
                                ![b].role = "idle",
                                ![b].leader_epoch = IF IsStateRead THEN State.leader_epoch ELSE @,
                                ![b].znode_version = IF IsStateRead THEN StateVersion ELSE @,
                                ![b].heard = IF Exists(znodes, StatePath)
                                             THEN Heard(b, State.leader_epoch, 0) ELSE @]
       /\ UNCHANGED <<controllers, messages, budget, breaches>>

(* An administrator writes the topic znode: here one partition, assigned to  *)
(* all brokers. Deletion and second topics are left out.                     *)
CreateTopic ==
    LET written == Apply(<<CreateOp(TopicPath, <<>>, NoSession)>>)
    IN /\ written.ok
       /\ znodes' = written.tree
       /\ UNCHANGED <<controllers, replicas, messages, budget, breaches>>

(* The process stops; its session, and so its registration, lives on until   *)
(* it expires. Only what is on disk survives, and this module has no disk.   *)
CrashBroker(b) ==
    /\ Spend("crashes")
    /\ replicas[b].role # "down"
    /\ replicas' = [replicas EXCEPT ![b] = StoppedReplica("down")]
    /\ UNCHANGED <<znodes, controllers, messages, breaches>>

(* The process runs again and knows nothing yet.                             *)
RestartBroker(b) ==
    /\ replicas[b].role = "down"
    /\ replicas' = [replicas EXCEPT ![b].role = "starting"]
    /\ UNCHANGED <<znodes, controllers, messages, budget, breaches>>

(* ZooKeeper ends the session of a broker, dead or merely silent. The broker *)
(* is not told: a leader leads on until an epoch or version stops it.        *)
ExpireBrokerSession(b) ==
    /\ Spend("expiries")
    /\ Exists(znodes, BrokerPath(b))
    /\ znodes' = [znodes EXCEPT ![BrokerPath(b)] = Absent]

(* The same for a controller: it acts on as a zombie.                        *)
ExpireControllerSession(c) ==
    /\ Spend("controller_expiries")
    /\ znodes[ControllerPath].ephemeral_owner = c
    /\ znodes' = [znodes EXCEPT ![ControllerPath] = Absent]

ExpireSession ==
    /\ \/ \E b \in Brokers : ExpireBrokerSession(b)
       \/ \E c \in Controllers : ExpireControllerSession(c)
    /\ UNCHANGED <<controllers, replicas, messages, breaches>>

-----------------------------------------------------------------------------
(* Brokers obey *)

(* A broker reads in ZooKeeper which broker is controller, and from now on   *)
(* refuses commands of a smaller epoch (CTL-004, CTL-007). It may read this  *)
(* late or never, and then learns it from a command that it obeys.           *)
LearnController(b) ==
    /\ replicas[b].role \notin {"down", "starting"}
    /\ replicas[b].controller_epoch < CurrentControllerEpoch
    /\ replicas' = [replicas EXCEPT ![b].controller_epoch = CurrentControllerEpoch,
                                    ![b].heard = Heard(b, NoEpoch, CurrentControllerEpoch)]
    /\ UNCHANGED <<znodes, controllers, messages, budget, breaches>>

IsOlderController(b, m) == m.controller_epoch < replicas[b].controller_epoch

IsOfNewEpoch(b, m) == m.leader_epoch > replicas[b].leader_epoch

IsFirstOfKnownEpoch(b, m) ==
    /\ m.leader_epoch = replicas[b].leader_epoch
    /\ replicas[b].role = "idle"
    /\ m.znode_version >= replicas[b].znode_version

(* A command counts when its leader epoch is larger (CMD-002). A replica     *)
(* that has just started knows the epoch from ZooKeeper only and obeys an    *)
(* equal one too, unless the command is older than the version that it read. *)
IsNewer(b, m) == IsOfNewEpoch(b, m) \/ IsFirstOfKnownEpoch(b, m)

(* Its controller epoch must not be smaller either (CTL-006).                *)
IsCurrent(b, m) == ~IsOlderController(b, m) /\ IsNewer(b, m)

IsHeard(b, m) == m.to = b /\ replicas[b].role \notin {"down", "starting"}

IsObeyed(b, m) == IsHeard(b, m) /\ IsCurrent(b, m)

ControllerEpochAfter(b, m) == m.controller_epoch

Obey(b, m, role, isr) ==
    /\ messages' = Received(messages, m)
    /\ replicas' = [replicas EXCEPT
                        ![b] = [role |-> role, leader |-> m.leader, leader_epoch |-> m.leader_epoch,
                                isr |-> isr, pending_isr |-> <<>>, is_reply_lost |-> FALSE,
                                znode_version |-> m.znode_version,
                                controller_epoch |-> ControllerEpochAfter(b, m),
                                heard |-> Heard(b, m.leader_epoch, m.controller_epoch)]]
    /\ Breach("StaleControllerHarmless", b, IsStale(b, m))
    /\ UNCHANGED <<znodes, controllers, budget>>

(* The replica takes ISR and version from the command, a change of its own   *)
(* in flight is forgotten (CMD-003). A refused command stays in flight and   *)
(* has no effect, not even that its sender's epoch is remembered: that is    *)
(* LearnController's.                                                        *)
BecomeLeader(b) ==
    \E m \in messages : m.leader = b /\ IsObeyed(b, m) /\ Obey(b, m, "leader", m.isr)

(* The replica stops leading, if it did, and belongs to another leader, or   *)
(* to none when the partition waits (CMD-004).                               *)
BecomeFollower(b) ==
    \E m \in messages : m.leader # b /\ IsObeyed(b, m) /\ Obey(b, m, "follower", {})

-----------------------------------------------------------------------------
(* Leaders change the ISR *)

(* One change at a time.                                                     *)
MayAsk(b) == replicas[b].pending_isr = <<>>

AskIsr(b, isr) ==
    /\ IsLeading(b)
    /\ MayAsk(b)
    /\ Spend("isr_changes")
    /\ replicas' = [replicas EXCEPT ![b].pending_isr = <<isr>>, ![b].is_reply_lost = FALSE]
    /\ UNCHANGED <<znodes, controllers, messages, breaches>>

MayDrop(b, f) == f # b

(* The leader asks to drop a member; which one lags, and whether it does, is *)
(* left to chance. Until the write is settled the ISR stays (ISR-003).       *)
ShrinkIsr(b, f) ==
    /\ f \in replicas[b].isr
    /\ MayDrop(b, f)
    /\ Cardinality(replicas[b].isr) > 1
    /\ AskIsr(b, replicas[b].isr \ {f})

(* The leader asks to add a replica; `Replication` says when it may.         *)
ExpandIsr(b, f) ==
    /\ f \notin replicas[b].isr
    /\ AskIsr(b, replicas[b].isr \cup {f})

(* The controller epoch stays as the deciding controller wrote it. The core  *)
(* writes that of the controller it obeys, which is a later one after a      *)
(* successor told an old state again; `TraceReplication` allows that. No     *)
(* rule for leaders depends on it.                                           *)
WantedState(b) ==
    [leader |-> b, leader_epoch |-> replicas[b].leader_epoch, isr |-> replicas[b].pending_isr[1],
     controller_epoch |-> State.controller_epoch]

IsrWrite(b) ==
    Apply(<<SetDataOp(StatePath, WantedState(b), NamedVersion(replicas[b].znode_version))>>)

IsEntitled(b) == State.leader = b /\ State.leader_epoch = replicas[b].heard.leader_epoch

Settled(b, isr, znode_version) ==
    [replicas EXCEPT ![b].isr = isr, ![b].pending_isr = <<>>, ![b].is_reply_lost = FALSE,
                     ![b].znode_version = znode_version]

(* The conditional write succeeds and the leader believes in the new ISR. If *)
(* it hears nothing, or a refusal, it reads the znode back (ZK-006): its own *)
(* write is there, or that was not applied, and the leader writes once more. *)
(* A first write that is late is then a second one of the same version, of   *)
(* which one at most takes effect. That ZooKeeper applies the write before   *)
(* the leader hears of it is LoseReply followed by this.                     *)
AdoptIsr(b) ==
    LET written == IsrWrite(b)
        is_unsure == replicas[b].is_reply_lost \/ ~written.ok
    IN /\ IsLeading(b)
       /\ replicas[b].pending_isr # <<>>
       /\ \/ /\ written.ok
             /\ znodes' = written.tree
             /\ replicas' = Settled(b, replicas[b].pending_isr[1], StateVersion + 1)
             /\ Breach("OnlyAuthorisedWrites", b, ~IsEntitled(b))
          \/ /\ is_unsure
             /\ IsOwnWrite(WantedState(b), replicas[b].znode_version)
             /\ replicas' = Settled(b, replicas[b].pending_isr[1], StateVersion)
             /\ UNCHANGED <<znodes, breaches>>
       /\ UNCHANGED <<controllers, messages, budget>>

AfterConflict(b) ==
    [replicas EXCEPT ![b].role = "fenced", ![b].pending_isr = <<>>, ![b].is_reply_lost = FALSE]

(* Another version, or another's content where its own should be: the leader *)
(* may have been replaced, so it commits nothing until a command comes       *)
(* (ISR-004). It still answers no request here; a fenced leader only waits.  *)
FenceLeader(b) ==
    /\ IsLeading(b)
    /\ replicas[b].pending_isr # <<>>
    /\ ~IsrWrite(b).ok
    /\ ~IsOwnWrite(WantedState(b), replicas[b].znode_version)
    /\ replicas' = AfterConflict(b)
    /\ UNCHANGED <<znodes, controllers, messages, budget, breaches>>

-----------------------------------------------------------------------------
(* What the network loses *)

(* ZooKeeper applied a leader's write, and the leader does not know: the     *)
(* answer is lost, or was waited for in vain and the write came later, from  *)
(* the old session, or from the pipeline of a server.                        *)
LoseLeaderReply(b) ==
    LET written == IsrWrite(b)
    IN /\ IsLeading(b)
       /\ replicas[b].pending_isr # <<>>
       /\ written.ok
       /\ znodes' = written.tree
       /\ replicas' = [replicas EXCEPT ![b].is_reply_lost = TRUE]
       /\ Breach("OnlyAuthorisedWrites", b, ~IsEntitled(b))
       /\ UNCHANGED <<controllers, messages>>

(* The same for a controller's decision is LoseControllerReply.              *)
LoseReply ==
    /\ Spend("lost_replies")
    /\ \/ \E b \in Brokers : LoseLeaderReply(b)
       \/ \E c \in Controllers : LoseControllerReply(c)

LoseLeaderRequest(b) ==
    /\ IsLeading(b)
    /\ replicas[b].pending_isr # <<>>
    /\ ~replicas[b].is_reply_lost
    /\ replicas' = [replicas EXCEPT ![b].is_reply_lost = TRUE]
    /\ UNCHANGED controllers

(* A write is lost, or is on its way still, and its author knows as little.  *)
LoseRequest ==
    /\ Spend("lost_requests")
    /\ \/ \E b \in Brokers : LoseLeaderRequest(b)
       \/ \E c \in Controllers : LoseControllerRequest(c)
    /\ UNCHANGED <<znodes, messages, breaches>>

(* For safety a lost command is one that never arrives, which needs no       *)
(* action; it is here so that a recorded loss has a counterpart.             *)
LoseMessage ==
    /\ Spend("losses")
    /\ \E m \in messages : messages' = Lost(messages, m)
    /\ UNCHANGED <<znodes, controllers, replicas, breaches>>

(* A second copy, which may arrive at any time after the first, or right     *)
(* after it on an ordered link.                                              *)
DuplicateMessage ==
    /\ Spend("duplicates")
    /\ \E m \in messages : IsFirstCopy(m) /\ messages' = Duplicated(messages, m)
    /\ UNCHANGED <<znodes, controllers, replicas, breaches>>

-----------------------------------------------------------------------------
Next ==
    \/ CreateTopic
    \/ \E b \in Brokers : RegisterBroker(b)
    \/ \E c \in Controllers : ElectController(c)
    \/ \E c \in Controllers : ResignController(c)
    \/ \E b \in Brokers : LearnController(b)
    \/ \E c \in Controllers : DetectBrokerChange(c)
    \/ \E c \in Controllers : InitLeader(c)
    \/ \E c \in Controllers : ElectLeader(c)
    \/ \E c \in Controllers : PublishDecision(c)
    \/ \E c \in Controllers : SendLeaderAndIsr(c)
    \/ \E b \in Brokers : BecomeLeader(b)
    \/ \E b \in Brokers : BecomeFollower(b)
    \/ \E b, f \in Brokers : ShrinkIsr(b, f)
    \/ \E b, f \in Brokers : ExpandIsr(b, f)
    \/ \E b \in Brokers : AdoptIsr(b)
    \/ \E b \in Brokers : FenceLeader(b)
    \/ \E b \in Brokers : CrashBroker(b)
    \/ \E b \in Brokers : RestartBroker(b)
    \/ ExpireSession
    \/ LoseReply
    \/ LoseRequest
    \/ LoseMessage
    \/ DuplicateMessage

(* What heals goes on as long as anything can: one condition for all of it   *)
(* is enough, since none of it can go on for ever. Faults need no help, and  *)
(* their bounds end them; so do the wishes of leaders.                       *)
Healing ==
    \/ \E b \in Brokers :
          \/ RegisterBroker(b) \/ LearnController(b) \/ BecomeLeader(b) \/ BecomeFollower(b)
          \/ AdoptIsr(b) \/ FenceLeader(b)
    \/ \E c \in Controllers :
          \/ ElectController(c) \/ ResignController(c) \/ DetectBrokerChange(c) \/ InitLeader(c)
          \/ ElectLeader(c) \/ PublishDecision(c) \/ SendLeaderAndIsr(c)

Spec == Init /\ [][Next]_metadata_vars /\ WF_metadata_vars(Healing)

-----------------------------------------------------------------------------
Epochs == Nat \cup {NoEpoch}
Versions == Nat \cup {NoVersion}
LeaderOrNone == Brokers \cup {NoBroker}
States == [leader : LeaderOrNone, leader_epoch : Nat, isr : SUBSET Brokers, controller_epoch : Nat]

TypeOK ==
    /\ \A path \in Paths : znodes[path].version \in Versions
    /\ Exists(znodes, StatePath) => State \in States
    /\ \A c \in Controllers :
          /\ controllers[c].status \in {"standing", "active"}
          /\ controllers[c].controller_epoch \in Nat
          /\ controllers[c].live_brokers \subseteq Brokers
          /\ \A i \in DOMAIN controllers[c].decision :
                /\ controllers[c].decision[i].state \in States
                /\ controllers[c].decision[i].expected_version \in Versions
          /\ \A i \in DOMAIN controllers[c].to_send : controllers[c].to_send[i].state \in States
    /\ \A b \in Brokers :
          /\ replicas[b].role \in {"down", "starting", "idle", "leader", "follower", "fenced"}
          /\ replicas[b].leader \in LeaderOrNone
          /\ replicas[b].leader_epoch \in Epochs
          /\ replicas[b].isr \subseteq Brokers
          /\ \A i \in DOMAIN replicas[b].pending_isr : replicas[b].pending_isr[i] \subseteq Brokers
          /\ replicas[b].znode_version \in Versions
          /\ replicas[b].controller_epoch \in Nat
          /\ replicas[b].heard \in [leader_epoch : Epochs, controller_epoch : Nat]
    /\ \A m \in messages : m.from \in Controllers /\ m.to \in Brokers /\ m.leader \in LeaderOrNone
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]

IsCleanOf(invariant) == \A breach \in breaches : breach.invariant # invariant

(* The leader is a member of the ISR; a partition without leader keeps one.  *)
\* @req ISR-006
LeaderInIsr ==
    Exists(znodes, StatePath) =>
        /\ State.leader # NoBroker => State.leader \in State.isr
        /\ State.isr # {}

(* No two brokers lead under one leader epoch.                               *)
\* @req FAIL-004
OneLeaderPerEpoch ==
    \A b, other \in Brokers :
        (b # other /\ IsLeading(b) /\ IsLeading(other)) =>
            replicas[b].leader_epoch # replicas[other].leader_epoch

(* A leader changes the znode only while that names it and its epoch.        *)
\* @req ZK-003
\* @req CMD-010
OnlyAuthorisedWrites == IsCleanOf("OnlyAuthorisedWrites")

(* No two controllers act under one controller epoch.                        *)
\* @req CTL-005
OneControllerPerEpoch ==
    \A c, other \in Controllers :
        (c # other /\ controllers[c].status = "active" /\ controllers[other].status = "active") =>
            controllers[c].controller_epoch # controllers[other].controller_epoch

(* A deposed controller's writes fail, and a broker that obeyed its          *)
(* successor does not obey it.                                               *)
\* @req ZK-005
\* @req CTL-006
\* @req CTL-013
StaleControllerHarmless == IsCleanOf("StaleControllerHarmless")

(* A broker has forgotten no controller epoch that it read or obeyed since   *)
(* it began.                                                                 *)
\* @req CTL-006
\* @req CTL-007
ControllerEpochKnown ==
    \A b \in Brokers : replicas[b].controller_epoch = replicas[b].heard.controller_epoch

(* Nor a leader epoch.                                                       *)
\* @req CMD-002
\* @req START-002
LeaderEpochKnown ==
    \A b \in Brokers : replicas[b].leader_epoch = replicas[b].heard.leader_epoch

(* The acting leader waits for every broker that could be elected cleanly.   *)
\* @req ISR-003
QuorumSuperset == \A b \in Brokers : IsActingLeader(b) => State.isr \subseteq MaximalIsr(b)

(* No command is ahead of ZooKeeper, and one with the present version says   *)
(* what ZooKeeper holds. What older ones say was compared while theirs was   *)
(* the present version.                                                      *)
\* @req FAIL-006
CommandReflectsZk ==
    \A m \in messages :
        /\ m.znode_version <= StateVersion
        /\ m.znode_version = StateVersion =>
              /\ m.leader = State.leader
              /\ m.leader_epoch = State.leader_epoch
              /\ m.isr = State.isr

(* A leader with the newest version has what ZooKeeper says.                 *)
\* @req ISR-003
VersionAgreement ==
    \A b \in Brokers :
        (IsLeading(b) /\ replicas[b].znode_version = StateVersion) =>
            /\ State.leader = b
            /\ State.leader_epoch = replicas[b].leader_epoch
            /\ State.isr = replicas[b].isr

(* A leader outside the ISR is chosen only when no broker of the ISR was     *)
(* there after the ISR had been read, and only by a controller in office: a  *)
(* deposed one may have looked long ago.                                     *)
\* @req FAIL-002
UncleanOnlyIfIsrDead == IsCleanOf("UncleanOnlyIfIsrDead")

(* Each decision raises the leader epoch by one, and a leader that changes   *)
(* its ISR leaves it.                                                        *)
\* @req FAIL-004
EpochStrictlyIncreasing ==
    [][(Exists(znodes, StatePath) /\ State' # State) =>
          \/ State'.leader_epoch = State.leader_epoch + 1
          \/ /\ State'.leader_epoch = State.leader_epoch
             /\ State'.leader = State.leader]_metadata_vars

(* What an election may make of a state: the ISR loses what is gone, but     *)
(* never its last member, and gains nothing.                                 *)
IsElection(old, new) ==
    /\ new.leader_epoch = old.leader_epoch + 1
    /\ new.isr # {}
    /\ new.isr \subseteq old.isr \/ unclean_leader_election
    /\ new.leader # NoBroker => new.leader \in new.isr

(* What a leader may make of it.                                             *)
IsIsrChange(old, new) ==
    /\ new.leader_epoch = old.leader_epoch
    /\ new.leader = old.leader
    /\ new.leader \in new.isr

(* There is no other write, so that each can be judged by what is seen of it *)
(* from outside (`TraceObserved`).                                           *)
\* @req FAIL-004
\* @req ISR-006
WritesAreDecisions ==
    [][(Exists(znodes, StatePath) /\ State' # State) =>
          IsElection(State, State') \/ IsIsrChange(State, State')]_metadata_vars

(* What is under way to the state: decisions of the controller in office,    *)
(* and what leaders have asked for.                                          *)
DecidedOn ==
    UNION {{controllers[c].decision[i].expected_version : i \in DOMAIN controllers[c].decision} :
            c \in {c \in Controllers : InOffice(c)}}
AskedOn ==
    {replicas[b].znode_version :
        b \in {b \in Brokers : IsLeading(b) /\ replicas[b].pending_isr # <<>>}}

AsStateZnode == INSTANCE StateZnode WITH
    BrokerOf <- LAMBDA b : b,
    state <- State,
    version <- StateVersion,
    assigned <- Brokers,
    decided_on <- DecidedOn,
    asked_on <- AskedOn,
    controller_epoch <- CurrentControllerEpoch,
    is_loss_told <- unclean_leader_election /\ ~IsCleanOf("UncleanElection")

(* The znode of the state changes as `StateZnode` says, and not otherwise.   *)
\* @req ZK-003
\* @req FAIL-004
RefinesStateZnode == AsStateZnode!Spec

-----------------------------------------------------------------------------
(* When the faults are over *)

(* Eventually the broker that ZooKeeper names leads, and it stays.           *)
\* @req FAIL-008
\* @req CTL-012
EventuallyLeader == <>[](\E b \in Brokers : IsActingLeader(b))

(* So it is from the first leader on: a topic that was created gets one.     *)
\* @req TOP-001
TopicEventuallyLed == <>[]Exists(znodes, TopicPath) => EventuallyLeader

(* Whoever is named and leads knows the newest version: else none of its     *)
(* writes would ever succeed again.                                          *)
\* @req ISR-004
EventuallyLeaderVersionFresh ==
    <>[](\A b \in Brokers :
            (IsLeading(b) /\ State.leader = b) => replicas[b].znode_version = StateVersion)

(* Some day a controller is in office and knows it, and it stays.            *)
\* @req CTL-009
ControllerEventuallyExists ==
    <>[](\E c \in Controllers : InOffice(c) /\ controllers[c].status = "active")
=============================================================================
