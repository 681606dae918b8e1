---------------------------- MODULE LeaderAndIsr ----------------------------
(* Who leads a partition: controllers, the LeaderAndISR znode, the commands, *)
(* and what each broker believes. One partition, no records: `Replication`   *)
(* composes these actions with logs.                                         *)
(*                                                                           *)
(* A broker's two parts, replica and candidate controller, are modelled as   *)
(* separate processes. All they share is a crash, which is two faults here.  *)
(* Sessions are worst case: a process whose session expired goes on, and its *)
(* writes still reach ZooKeeper under a later session, so that only versions *)
(* and epochs protect the znode, never the session.                          *)
EXTENDS PartitionState

-----------------------------------------------------------------------------
(* Brokers come, go and are told about topics *)

(* A process that runs without registration gets a session and registers.    *)
(* A starting one then reads the state of its partition before it obeys      *)
(* anybody: a late command from before its crash is older than what it read. *)
(* Waiting for the old session to end (START-005) is the create that fails.  *)
RegisterBroker(b) ==
    LET written == Apply(<<CreateOp(BrokerPath(b), <<>>, b)>>)
        is_known == Exists(znodes, StatePath) /\ ~Has("restart_ignores_znode")
    IN /\ replicas[b].role # "down"
       /\ written.ok
       /\ znodes' = written.tree
       /\ replicas' = IF replicas[b].role # "starting" THEN replicas
                      ELSE [replicas EXCEPT
                                ![b].role = "idle",
                                ![b].leader_epoch = IF is_known THEN State.leader_epoch ELSE @,
                                ![b].znode_version = IF is_known THEN StateVersion ELSE @]
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

(* The process runs again and knows nothing yet. *)
RestartBroker(b) ==
    /\ replicas[b].role = "down"
    /\ replicas' = [replicas EXCEPT ![b].role = "starting"]
    /\ UNCHANGED <<znodes, controllers, messages, budget, breaches>>

(* ZooKeeper ends the session of a broker, dead or merely silent. The broker *)
(* is not told: a leader leads on until somebody's epoch or version stops it.*)
ExpireBrokerSession(b) ==
    /\ Spend("expiries")
    /\ Exists(znodes, BrokerPath(b))
    /\ znodes' = [znodes EXCEPT ![BrokerPath(b)] = Absent]

(* The same for a controller: it acts on as a zombie. *)
ExpireControllerSession(c) ==
    /\ Spend("controller_expiries")
    /\ znodes[ControllerPath].ephemeral_owner = c
    /\ znodes' = [znodes EXCEPT ![ControllerPath] = Absent]

ExpireSession ==
    /\ \/ \E b \in Brokers : ExpireBrokerSession(b)
       \/ \E c \in Controllers : ExpireControllerSession(c)
    /\ UNCHANGED <<controllers, replicas, messages, breaches>>

-----------------------------------------------------------------------------
(* The controller *)

CurrentState ==
    IF Exists(znodes, StatePath)
    THEN <<[state |-> State, znode_version |-> StateVersion]>> ELSE <<>>

Activated(c, controller_epoch) ==
    [IdleController EXCEPT !.status = "active", !.controller_epoch = controller_epoch,
                           !.live_brokers = Registered, !.to_send = CurrentState]

RaisedControllerEpoch ==
    CurrentControllerEpoch + (IF Has("controller_epoch_not_raised") THEN 0 ELSE 1)

(* One multi creates /controller and raises the epoch (CTL-005); the winner  *)
(* reads brokers and state in the same step and is going to send all of it   *)
(* again (V3 D.3, D.4). Whatever changes after that read reaches it as a     *)
(* conflict or as a broker change. The epoch equals the version of its       *)
(* znode, so one number serves as both.                                      *)
ElectInOneMulti(c) ==
    LET written == Apply(<<CreateOp(ControllerPath, <<>>, c),
                           SetDataOp(ControllerEpochPath, RaisedControllerEpoch, AnyVersion)>>)
    IN /\ controllers[c].status = "standing"
       /\ written.ok
       /\ znodes' = written.tree
       /\ controllers' = [controllers EXCEPT ![c] = Activated(c, RaisedControllerEpoch)]

(* The wrong way, for comparison: create first, raise the epoch later.       *)
CreateController(c) ==
    LET written == Apply(<<CreateOp(ControllerPath, <<>>, c)>>)
    IN /\ controllers[c].status = "standing"
       /\ written.ok
       /\ znodes' = written.tree
       /\ controllers' = [controllers EXCEPT ![c].status = "created"]

RaiseEpochLater(c) ==
    LET written == Apply(<<SetDataOp(ControllerEpochPath, RaisedControllerEpoch, AnyVersion)>>)
    IN /\ controllers[c].status = "created"
       /\ znodes' = written.tree
       /\ controllers' = [controllers EXCEPT ![c] = Activated(c, RaisedControllerEpoch)]

(* Who creates /controller is the controller, and nobody else is (CTL-002).  *)
(* That a starting broker looks before it stands (CTL-003) is left out: the  *)
(* create fails anyhow.                                                      *)
ElectController(c) ==
    /\ IF Has("two_step_controller_election")
       THEN CreateController(c) \/ RaiseEpochLater(c)
       ELSE ElectInOneMulti(c)
    /\ UNCHANGED <<replicas, messages, budget, breaches>>

(* A controller that sees /controller gone or another's forgets everything,  *)
(* what it was about to write included (CTL-008). How late it sees that is   *)
(* up to the schedule.                                                       *)
ResignController(c) ==
    /\ controllers[c].status # "standing"
    /\ znodes[ControllerPath].ephemeral_owner # c
    /\ controllers' = [controllers EXCEPT ![c] = IdleController]
    /\ UNCHANGED <<znodes, replicas, messages, budget, breaches>>

(* The controller reads the live brokers; any number of changes is seen as   *)
(* one. A broker that came back is sent the present state, in case it was    *)
(* away when that was decided (FAIL-008). A broker that left and came back   *)
(* between two reads is not noticed: that takes broker epochs.               *)
DetectBrokerChange(c) ==
    LET arrived == Registered \ controllers[c].live_brokers
    IN /\ controllers[c].status = "active"
       /\ controllers[c].live_brokers # Registered
       /\ controllers' = [controllers EXCEPT
                            ![c].live_brokers = Registered,
                            ![c].to_send = IF arrived # {} THEN CurrentState ELSE @]
       /\ UNCHANGED <<znodes, replicas, messages, budget, breaches>>

IsFree(c) ==
    /\ controllers[c].status = "active"
    /\ controllers[c].decision = <<>>
    /\ controllers[c].to_send = <<>>

Decided(c, leader, leader_epoch, isr, expected_version) ==
    [controllers EXCEPT ![c].decision =
        <<[state |-> [leader |-> leader, leader_epoch |-> leader_epoch, isr |-> isr,
                      controller_epoch |-> controllers[c].controller_epoch],
           expected_version |-> expected_version]>>]

(* The first leader of a partition that has no state yet (TOP-001, CTL-011): *)
(* any live assigned replica leads, all live ones are the ISR. The write     *)
(* will be a create, so that it cannot replace a state.                      *)
InitLeader(c) ==
    /\ IsFree(c)
    /\ Exists(znodes, TopicPath)
    /\ ~Exists(znodes, StatePath)
    /\ \E leader \in controllers[c].live_brokers :
          controllers' = Decided(c, leader, 0, controllers[c].live_brokers, NoVersion)
    /\ UNCHANGED <<znodes, replicas, messages, budget, breaches>>

RaisedLeaderEpoch == State.leader_epoch + (IF Has("leader_epoch_not_raised") THEN 0 ELSE 1)

IsAffected(live) == State.leader \notin live \/ ~(State.isr \subseteq live)

(* The state is read and the decision made in one step, on the live brokers  *)
(* seen earlier (V3 A.3.1, A.3.2). A live leader stays; otherwise any live   *)
(* member of the ISR leads: the order of preference is the core's business.  *)
(* Without a live member the partition waits with leader -1 and keeps its    *)
(* ISR (FAIL-003). Unclean election is left out.                             *)
ElectLeader(c) ==
    LET live == controllers[c].live_brokers
        isr == State.isr \cap live
        candidates == IF State.leader \in isr THEN {State.leader} ELSE isr
        decided_isr == IF isr = {} /\ ~Has("shrink_on_election_empties_isr") THEN State.isr ELSE isr
    IN /\ IsFree(c)
       /\ Exists(znodes, StatePath)
       /\ IsAffected(live)
       /\ candidates # {} \/ State.leader # NoBroker
       /\ Spend("elections")
       /\ \E leader \in (IF candidates = {} THEN {NoBroker} ELSE candidates) :
             controllers' = Decided(c, leader, RaisedLeaderEpoch, decided_isr, StateVersion)
       /\ UNCHANGED <<znodes, replicas, messages, breaches>>

DecisionWrite(c) ==
    LET decision == controllers[c].decision[1]
        version == IF Has("no_znode_version_check") THEN AnyVersion ELSE decision.expected_version
        write == IF decision.expected_version = NoVersion
                 THEN CreateOp(StatePath, decision.state, NoSession)
                 ELSE SetDataOp(StatePath, decision.state, version)
        fence == CheckOp(ControllerEpochPath, controllers[c].controller_epoch)
    IN Apply(IF Has("no_controller_epoch_check") THEN <<write>> ELSE <<fence, write>>)

IsOwnWrite(state, expected_version) ==
    Exists(znodes, StatePath) /\ StateVersion = expected_version + 1 /\ State = state

ForgetDecision(c) == [controllers[c] EXCEPT !.decision = <<>>, !.is_reply_lost = FALSE]

Published(c) ==
    LET decision == controllers[c].decision[1]
    IN [ForgetDecision(c) EXCEPT
            !.to_send = <<[state |-> decision.state,
                           znode_version |-> decision.expected_version + 1]>>]

(* The conditional write, checked against the controller epoch in the same   *)
(* multi (ZK-003, ZK-005). A conflict drops the decision: the controller     *)
(* reads and decides again (ZK-004). After a lost reply the znode is read    *)
(* back instead: mine if content and version are what I wrote (ZK-006).      *)
PublishDecision(c) ==
    /\ controllers[c].decision # <<>>
    /\ LET written == DecisionWrite(c)
           decision == controllers[c].decision[1]
           is_mine == IsOwnWrite(decision.state, decision.expected_version)
       IN IF controllers[c].is_reply_lost
          THEN /\ controllers' = [controllers EXCEPT
                                    ![c] = IF is_mine THEN Published(c) ELSE ForgetDecision(c)]
               /\ UNCHANGED <<znodes, breaches>>
          ELSE /\ znodes' = written.tree
               /\ controllers' = [controllers EXCEPT
                                    ![c] = IF written.ok THEN Published(c) ELSE ForgetDecision(c)]
               /\ Breach("StaleControllerHarmless", c, written.ok /\ IsDeposed(c))
    /\ UNCHANGED <<replicas, messages, budget>>

(* One command to every broker, sent only after ZooKeeper holds the state    *)
(* (FAIL-006). Sending to all at once loses nothing: a command not yet sent  *)
(* is a command that has not yet arrived.                                    *)
SendLeaderAndIsr(c) ==
    /\ controllers[c].to_send # <<>>
    /\ LET sent == controllers[c].to_send[1]
       IN messages' = messages \cup
            {[to |-> b, leader |-> sent.state.leader, leader_epoch |-> sent.state.leader_epoch,
              isr |-> sent.state.isr, znode_version |-> sent.znode_version,
              controller_epoch |-> controllers[c].controller_epoch, copy |-> 1] : b \in Brokers}
    /\ controllers' = [controllers EXCEPT ![c].to_send = <<>>]
    /\ UNCHANGED <<znodes, replicas, budget, breaches>>

-----------------------------------------------------------------------------
(* Brokers obey *)

(* A broker reads in ZooKeeper who is controller, and from now on refuses    *)
(* commands of a smaller epoch (CTL-004, CTL-007). It may read this late or  *)
(* never, and then learns it from a command that it obeys.                   *)
LearnController(b) ==
    /\ replicas[b].role \notin {"down", "starting"}
    /\ replicas[b].controller_epoch < CurrentControllerEpoch
    /\ replicas' = [replicas EXCEPT ![b].controller_epoch = CurrentControllerEpoch]
    /\ UNCHANGED <<znodes, controllers, messages, budget, breaches>>

IsOlderController(b, m) == m.controller_epoch < replicas[b].controller_epoch

(* A command counts when its leader epoch is larger (CMD-002) and its        *)
(* controller epoch not smaller (CTL-006). A replica that has just started   *)
(* knows the epoch from ZooKeeper only and obeys an equal one too, unless    *)
(* the command is older than the version that it read.                       *)
IsObeyed(b, m) ==
    /\ m.to = b
    /\ replicas[b].role \notin {"down", "starting"}
    /\ ~IsOlderController(b, m) \/ Has("accept_older_controller_epoch")
    /\ \/ m.leader_epoch > replicas[b].leader_epoch
       \/ /\ replicas[b].role = "idle"
          /\ m.leader_epoch = replicas[b].leader_epoch
          /\ m.znode_version >= replicas[b].znode_version
       \/ Has("accept_older_leader_epoch")
       \/ Has("leader_epoch_not_raised") /\ m.znode_version > replicas[b].znode_version

Obey(b, m, role, isr) ==
    /\ messages' = messages \ {m}
    /\ replicas' = [replicas EXCEPT
                        ![b] = [role |-> role, leader |-> m.leader, leader_epoch |-> m.leader_epoch,
                                isr |-> isr, pending_isr |-> <<>>, is_reply_lost |-> FALSE,
                                znode_version |-> m.znode_version,
                                controller_epoch |-> m.controller_epoch]]
    /\ Breach("StaleControllerHarmless", b, IsOlderController(b, m))
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

AskIsr(b, isr) ==
    /\ IsLeading(b)
    /\ replicas[b].pending_isr = <<>>
    /\ Spend("isr_changes")
    /\ replicas' = [replicas EXCEPT ![b].pending_isr = <<isr>>]
    /\ UNCHANGED <<znodes, controllers, messages, breaches>>

(* The leader asks to drop a member; which one lags, and whether it does, is *)
(* left to chance. Until the write is settled the ISR stays (ISR-003).       *)
ShrinkIsr(b, f) ==
    /\ f \in replicas[b].isr
    /\ f # b \/ Has("leader_may_leave_isr")
    /\ Cardinality(replicas[b].isr) > 1
    /\ AskIsr(b, replicas[b].isr \ {f})

(* The leader asks to add a replica; `Replication` says when it may.         *)
ExpandIsr(b, f) ==
    /\ f \notin replicas[b].isr
    /\ AskIsr(b, replicas[b].isr \cup {f})

(* The controller epoch stays as the deciding controller wrote it. The       *)
(* leader has it from the command; at the version it expects the znode has   *)
(* the same, and reading it there saves a variable.                          *)
WantedState(b) ==
    [leader |-> b, leader_epoch |-> replicas[b].leader_epoch, isr |-> replicas[b].pending_isr[1],
     controller_epoch |-> State.controller_epoch]

IsrWrite(b) ==
    Apply(<<SetDataOp(StatePath, WantedState(b),
                    IF Has("no_znode_version_check") THEN AnyVersion
                    ELSE replicas[b].znode_version)>>)

IsEntitled(b) == State.leader = b /\ State.leader_epoch = replicas[b].leader_epoch

Settled(b, isr, znode_version) ==
    [replicas EXCEPT ![b].isr = isr, ![b].pending_isr = <<>>, ![b].is_reply_lost = FALSE,
                     ![b].znode_version = znode_version]

(* The conditional write succeeds and the leader believes in the new ISR, or *)
(* it reads its own write back after a lost reply. That ZooKeeper applies    *)
(* the write before the leader hears of it is LoseReply followed by this.    *)
AdoptIsr(b) ==
    LET written == IsrWrite(b)
        expected_version == replicas[b].znode_version
    IN /\ IsLeading(b)
       /\ replicas[b].pending_isr # <<>>
       /\ IF replicas[b].is_reply_lost
          THEN /\ IsOwnWrite(WantedState(b), expected_version)
               /\ replicas' = Settled(b, replicas[b].pending_isr[1], StateVersion)
               /\ UNCHANGED <<znodes, breaches>>
          ELSE /\ written.ok
               /\ znodes' = written.tree
               /\ replicas' = Settled(b, replicas[b].pending_isr[1], StateVersion + 1)
               /\ Breach("OnlyAuthorisedWrites", b, ~IsEntitled(b))
       /\ UNCHANGED <<controllers, messages, budget>>

(* Another version, or another's content where its own should be: the leader *)
(* may have been replaced, so it commits nothing until a command comes       *)
(* (ISR-004). It still answers nobody here; a fenced leader only waits.      *)
FenceLeader(b) ==
    LET is_conflict == IF replicas[b].is_reply_lost
                       THEN ~IsOwnWrite(WantedState(b), replicas[b].znode_version)
                       ELSE ~IsrWrite(b).ok
    IN /\ IsLeading(b)
       /\ replicas[b].pending_isr # <<>>
       /\ is_conflict
       /\ replicas' = IF Has("no_step_down")
                      THEN Settled(b, replicas[b].pending_isr[1], replicas[b].znode_version)
                      ELSE [replicas EXCEPT ![b].role = "fenced", ![b].pending_isr = <<>>,
                                            ![b].is_reply_lost = FALSE]
       /\ UNCHANGED <<znodes, controllers, messages, budget, breaches>>

-----------------------------------------------------------------------------
(* What the network loses *)

(* ZooKeeper applied a leader's write, and the leader does not know. A write *)
(* that never arrived, or was refused, is indistinguishable from one that is *)
(* tried later.                                                              *)
LoseLeaderReply(b) ==
    LET written == IsrWrite(b)
    IN /\ IsLeading(b)
       /\ replicas[b].pending_isr # <<>>
       /\ ~replicas[b].is_reply_lost
       /\ written.ok
       /\ znodes' = written.tree
       /\ replicas' = [replicas EXCEPT ![b].is_reply_lost = TRUE]
       /\ Breach("OnlyAuthorisedWrites", b, ~IsEntitled(b))
       /\ UNCHANGED <<controllers, messages>>

(* The same for a controller's decision. *)
LoseControllerReply(c) ==
    /\ controllers[c].decision # <<>>
    /\ ~controllers[c].is_reply_lost
    /\ LET written == DecisionWrite(c)
       IN /\ written.ok
          /\ znodes' = written.tree
          /\ Breach("StaleControllerHarmless", c, IsDeposed(c))
    /\ controllers' = [controllers EXCEPT ![c].is_reply_lost = TRUE]
    /\ UNCHANGED <<replicas, messages>>

LoseReply ==
    /\ Spend("lost_replies")
    /\ \/ \E b \in Brokers : LoseLeaderReply(b)
       \/ \E c \in Controllers : LoseControllerReply(c)

(* For safety a lost command is one that never arrives, which needs no       *)
(* action; it is here so that a recorded loss has a counterpart.             *)
LoseMessage ==
    /\ Spend("losses")
    /\ \E m \in messages : messages' = messages \ {m}
    /\ UNCHANGED <<znodes, controllers, replicas, breaches>>

(* A second copy, which may arrive at any time after the first. *)
DuplicateMessage ==
    /\ Spend("duplicates")
    /\ \E m \in messages : m.copy = 1 /\ messages' = messages \cup {[m EXCEPT !.copy = 2]}
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
    \/ LoseMessage
    \/ DuplicateMessage

-----------------------------------------------------------------------------
IsCleanOf(invariant) == \A breach \in breaches : breach.invariant # invariant

(* The leader is a member of the ISR; a partition without leader keeps one.  *)
\* @req ISR-006
LeaderInIsr ==
    Exists(znodes, StatePath) =>
        /\ State.leader # NoBroker => State.leader \in State.isr
        /\ State.isr # {}

(* No two brokers lead under one leader epoch. *)
\* @req FAIL-004
OneLeaderPerEpoch ==
    \A b, other \in Brokers :
        (b # other /\ IsLeading(b) /\ IsLeading(other)) =>
            replicas[b].leader_epoch # replicas[other].leader_epoch

(* A leader changes the znode only while that names it and its epoch. *)
\* @req ZK-003
\* @req CMD-010
OnlyAuthorisedWrites == IsCleanOf("OnlyAuthorisedWrites")

(* No two controllers act under one controller epoch. *)
\* @req CTL-005
OneControllerPerEpoch ==
    \A c, other \in Controllers :
        (c # other /\ controllers[c].status = "active" /\ controllers[other].status = "active") =>
            controllers[c].controller_epoch # controllers[other].controller_epoch

(* A deposed controller's writes fail, and who obeyed its successor does not *)
(* obey it.                                                                  *)
\* @req ZK-005
\* @req CTL-006
\* @req CTL-013
StaleControllerHarmless == IsCleanOf("StaleControllerHarmless")

(* The acting leader waits for every broker that could be elected cleanly.   *)
\* @req ISR-003
QuorumSuperset == \A b \in Brokers : IsActingLeader(b) => State.isr \subseteq MaximalIsr(b)
=============================================================================
