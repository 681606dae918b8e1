----------------------------- MODULE Decisions ------------------------------
(* The controller: how it comes into office and loses it, what it decides    *)
(* about the partition, how it writes that and tells the brokers. `Next` and *)
(* the properties are in `LeaderAndIsr`.                                     *)
EXTENDS PartitionState

-----------------------------------------------------------------------------
(* What is read and what follows from it *)

CurrentState ==
    IF Exists(znodes, StatePath)
    THEN <<[state |-> State, znode_version |-> StateVersion]>> ELSE <<>>

IsAffected(live) == State.leader \notin live \/ ~(State.isr \subseteq live)

CleanLeaders(live) ==
    LET isr == State.isr \cap live
    IN IF State.leader \in isr THEN {State.leader} ELSE isr

(* For an election outside the ISR the controller reads the brokers once     *)
(* more, after the state that it is going to replace (FAIL-002): `live` may  *)
(* be older than that state and tell of a member's absence that is over.     *)
ReadOnceMore(live) == Registered

UncleanLeaders(live) ==
    IF unclean_leader_election /\ State.isr \cap ReadOnceMore(live) = {}
    THEN ReadOnceMore(live) ELSE {}

Leaders(live) ==
    CASE CleanLeaders(live) # {} -> CleanLeaders(live)
      [] UncleanLeaders(live) # {} -> UncleanLeaders(live)
      [] OTHER -> {NoBroker}

(* A partition that already waits without a candidate needs no decision.     *)
NeedsDecision(live) ==
    /\ Exists(znodes, StatePath)
    /\ IsAffected(live)
    /\ Leaders(live) # {NoBroker} \/ State.leader # NoBroker

-----------------------------------------------------------------------------
(* The office *)

(* The new controller tells the state as it stands, or decides first and     *)
(* tells then. V3 D tells first: a command that may name a dead leader.      *)
ToldFirst == IF NeedsDecision(Registered) THEN <<>> ELSE CurrentState

Activated(controller_epoch) ==
    [IdleController EXCEPT !.status = "active", !.controller_epoch = controller_epoch,
                           !.live_brokers = Registered, !.to_send = ToldFirst]

RaisedControllerEpoch == CurrentControllerEpoch + 1

(* One multi creates /controller and raises the epoch (CTL-005); the winner  *)
(* reads brokers and state in the same step. Whatever changes after that     *)
(* reaches it as a conflict or as a broker change. The epoch equals the      *)
(* version of its znode, so one number serves as both.                       *)
ElectInOneMulti(c) ==
    LET written == Apply(<<CreateOp(ControllerPath, <<>>, c),
                           SetDataOp(ControllerEpochPath, RaisedControllerEpoch, AnyVersion)>>)
    IN /\ controllers[c].status = "standing"
       /\ written.ok
       /\ znodes' = written.tree
       /\ controllers' = [controllers EXCEPT ![c] = Activated(RaisedControllerEpoch)]

(* The broker that creates /controller is the controller, and no other is    *)
(* (CTL-002). That a starting broker looks before it stands (CTL-003) is     *)
(* left out: the create fails anyhow.                                        *)
ElectController(c) ==
    /\ ElectInOneMulti(c)
    /\ UNCHANGED <<replicas, messages, budget, breaches>>

(* A controller that sees /controller gone or another's forgets everything,  *)
(* what it was about to write included, and may stand again (CTL-008). How   *)
(* late it sees that is up to the schedule.                                  *)
AfterOffice == IdleController

ResignController(c) ==
    /\ controllers[c].status # "standing"
    /\ ~InOffice(c)
    /\ controllers' = [controllers EXCEPT ![c] = AfterOffice]
    /\ UNCHANGED <<znodes, replicas, messages, budget, breaches>>

(* The controller reads the live brokers and sets the watch in one call; any *)
(* number of changes is seen as one. A broker that came back is sent the     *)
(* present state, in case it was away when that was decided (FAIL-008),      *)
(* unless a decision comes first. A broker that left and came back between   *)
(* two reads is not noticed: that takes broker epochs.                       *)
DetectBrokerChange(c) ==
    LET arrived == Registered \ controllers[c].live_brokers
    IN /\ controllers[c].status = "active"
       /\ controllers[c].is_watching
       /\ controllers[c].live_brokers # Registered
       /\ controllers' = [controllers EXCEPT
                            ![c].live_brokers = Registered,
                            ![c].to_send = IF arrived = {} \/ NeedsDecision(Registered) THEN @
                                           ELSE CurrentState]
       /\ UNCHANGED <<znodes, replicas, messages, budget, breaches>>

-----------------------------------------------------------------------------
(* Decisions *)

IsFree(c) ==
    /\ controllers[c].status = "active"
    /\ controllers[c].decision = <<>>
    /\ controllers[c].to_send = <<>>

(* `is_isr_alive` is history: whether a member of the ISR was registered     *)
(* when a leader outside it was chosen.                                      *)
Decided(c, leader, leader_epoch, isr, expected_version, is_isr_alive) ==
    [controllers EXCEPT ![c].decision =
        <<[state |-> [leader |-> leader, leader_epoch |-> leader_epoch, isr |-> isr,
                      controller_epoch |-> controllers[c].controller_epoch],
           expected_version |-> expected_version, is_isr_alive |-> is_isr_alive]>>]

HasTopic == Exists(znodes, TopicPath)
IsUninitialised(c) == ~Exists(znodes, StatePath)
VersionBeforeInit == NoVersion

(* The first leader of a partition that has no state yet (TOP-001, CTL-011): *)
(* any live assigned replica leads, all live ones are the ISR. The write     *)
(* will be a create, so that it cannot replace a state.                      *)
InitLeader(c) ==
    /\ IsFree(c)
    /\ HasTopic
    /\ IsUninitialised(c)
    /\ \E leader \in controllers[c].live_brokers :
          controllers' = Decided(c, leader, 0, controllers[c].live_brokers, VersionBeforeInit,
                                 FALSE)
    /\ UNCHANGED <<znodes, replicas, messages, budget, breaches>>

RaisedLeaderEpoch == State.leader_epoch + 1

IsOutsideIsr(leader) == leader # NoBroker /\ leader \notin State.isr

IsrWithoutLeader == State.isr

DecidedIsr(leader, live) ==
    CASE leader = NoBroker -> IsrWithoutLeader
      [] IsOutsideIsr(leader) -> {leader}
      [] State.leader = NoBroker -> {leader}
      [] OTHER -> State.isr \cap live

(* The state is read and the decision made in one step, on the live brokers  *)
(* seen earlier (V3 A.3.1, A.3.2). A live leader stays; otherwise any live   *)
(* member of the ISR leads: the order of preference is the core's business.  *)
(* Without a live member a broker outside leads alone, if that is allowed;   *)
(* else the partition waits with leader -1 and keeps its ISR (FAIL-003), and *)
(* is elected when a member comes back. That one leads alone, since nothing  *)
(* is known of what each of them has lost meanwhile (`Fencing`).             *)
ElectLeader(c) ==
    LET live == controllers[c].live_brokers
    IN /\ IsFree(c)
       /\ NeedsDecision(live)
       /\ Spend("elections")
       /\ \E leader \in Leaders(live) :
             controllers' = Decided(c, leader, RaisedLeaderEpoch, DecidedIsr(leader, live),
                                    StateVersion,
                                    IsOutsideIsr(leader) /\ State.isr \cap Registered # {})
       /\ UNCHANGED <<znodes, replicas, messages, breaches>>

-----------------------------------------------------------------------------
(* Writes and commands *)

(* What every write of a controller checks in the same multi (ZK-005): the   *)
(* epoch, which a successor raises, and /controller itself, since from the   *)
(* end of a session to the next election the epoch still fits.               *)
EpochCheck(c) == <<CheckOp(ControllerEpochPath, controllers[c].controller_epoch)>>
OfficeCheck == <<CheckOp(ControllerPath, 0)>>
Fence(c) == EpochCheck(c) \o OfficeCheck

DecisionWrite(c) ==
    LET decision == controllers[c].decision[1]
        write == IF decision.expected_version = NoVersion
                 THEN CreateOp(StatePath, decision.state, NoSession)
                 ELSE SetDataOp(StatePath, decision.state, NamedVersion(decision.expected_version))
    IN Apply(Fence(c) \o <<write>>)

(* History: what a successful write of `c` breaches. An election outside the *)
(* ISR that is allowed breaches nothing, but is remembered all the same: it  *)
(* is what may lose records.                                                 *)
WriteBreaches(c) ==
    LET decision == controllers[c].decision[1]
        is_unclean == Exists(znodes, StatePath) /\ IsOutsideIsr(decision.state.leader)
        is_needless == decision.is_isr_alive \/ (~InOffice(c) /\ State.isr \cap Registered # {})
    IN Breached("StaleControllerHarmless", c, IsDeposed(c))
       \cup Breached("UncleanOnlyIfIsrDead", c, is_unclean /\ is_needless)
       \cup Breached("UncleanElection", c, is_unclean)

IsOwnWrite(state, expected_version) ==
    Exists(znodes, StatePath) /\ StateVersion = expected_version + 1 /\ State = state

ForgetDecision(c) == [controllers[c] EXCEPT !.decision = <<>>, !.is_reply_lost = FALSE]

Published(c) ==
    LET decision == controllers[c].decision[1]
    IN [ForgetDecision(c) EXCEPT
            !.to_send = <<[state |-> decision.state,
                           znode_version |-> decision.expected_version + 1]>>]

(* With whatever live brokers it goes on after a conflict: it is still told  *)
(* of the next change.                                                       *)
IsWatchSet(live) == TRUE

(* After a conflict the state is read again (ZK-004), and is decided upon or *)
(* told as it stands. A deposed controller sends nothing.                    *)
Refused(c) ==
    LET live == controllers[c].live_brokers
    IN [ForgetDecision(c) EXCEPT
            !.to_send = IF NeedsDecision(live) \/ ~Apply(Fence(c)).ok THEN <<>> ELSE CurrentState,
            !.is_watching = IsWatchSet(live)]

SettledDecision(c) == Published(c)

(* After a lost reply the znode is read back: the decision is settled if     *)
(* content and version are as written (ZK-006).                              *)
ReadBack(c) ==
    LET decision == controllers[c].decision[1]
    IN IF IsOwnWrite(decision.state, decision.expected_version) THEN SettledDecision(c)
       ELSE Refused(c)

MayTell(written) == written.ok

(* The conditional write behind the fence (ZK-003, ZK-005), or its settling. *)
PublishDecision(c) ==
    /\ controllers[c].decision # <<>>
    /\ LET written == DecisionWrite(c)
       IN IF controllers[c].is_reply_lost
          THEN /\ controllers' = [controllers EXCEPT ![c] = ReadBack(c)]
               /\ UNCHANGED <<znodes, breaches>>
          ELSE /\ znodes' = written.tree
               /\ controllers' = [controllers EXCEPT
                                    ![c] = IF MayTell(written) THEN Published(c) ELSE Refused(c)]
               /\ breaches' = breaches \cup (IF written.ok THEN WriteBreaches(c) ELSE {})
    /\ UNCHANGED <<replicas, messages, budget>>

(* ZooKeeper applied a decision, at once or late, and its author does not    *)
(* know.                                                                     *)
LoseControllerReply(c) ==
    /\ controllers[c].decision # <<>>
    /\ LET written == DecisionWrite(c)
       IN /\ written.ok
          /\ znodes' = written.tree
          /\ breaches' = breaches \cup WriteBreaches(c)
    /\ controllers' = [controllers EXCEPT ![c].is_reply_lost = TRUE]
    /\ UNCHANGED <<replicas, messages>>

(* The decision is lost on its way, or late, and its author does not know. A *)
(* session sees what it wrote before it reads; a decision that is later than *)
(* that is one of an office that is over, and fails at the fence.            *)
LoseControllerRequest(c) ==
    /\ controllers[c].decision # <<>>
    /\ ~controllers[c].is_reply_lost
    /\ controllers' = [controllers EXCEPT ![c].is_reply_lost = TRUE]
    /\ UNCHANGED replicas

(* One command to every broker, sent only after ZooKeeper holds the state    *)
(* (FAIL-006). Sending to all at once loses nothing: a command not yet sent  *)
(* is a command that has not yet arrived.                                    *)
SendLeaderAndIsr(c) ==
    /\ controllers[c].to_send # <<>>
    /\ LET sent == controllers[c].to_send[1]
       IN messages' = Sent(messages,
            {[from |-> c, to |-> b, place |-> 0, copy |-> 1,
              leader |-> sent.state.leader, leader_epoch |-> sent.state.leader_epoch,
              isr |-> sent.state.isr, znode_version |-> sent.znode_version,
              controller_epoch |-> controllers[c].controller_epoch] : b \in Brokers})
    /\ controllers' = [controllers EXCEPT ![c].to_send = <<>>]
    /\ UNCHANGED <<znodes, replicas, budget, breaches>>
=============================================================================
