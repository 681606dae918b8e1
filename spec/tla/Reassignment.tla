---------------------------- MODULE Reassignment ----------------------------
(* One partition moves to other brokers: the assignment and the target in    *)
(* ZooKeeper, the controller that walks from one to the other, the replicas  *)
(* that come and go.                                                         *)
(*                                                                           *)
(* The topic znode holds `assigned` (old and new replicas as long as the     *)
(* move lasts), `adding` (those of them that the old assignment lacks) and   *)
(* `removing` (not assigned any more, still to be stopped). So each next     *)
(* step follows from what ZooKeeper holds, and a controller that takes over  *)
(* needs to remember nothing.                                                *)
(*                                                                           *)
(* Left out: records but one, which is committed at the start: a replica     *)
(* holds it or not. Unclean elections, controller epochs at brokers (stale   *)
(* commands are told by leader epoch), and /controller itself.               *)
EXTENDS ReassignmentState

-----------------------------------------------------------------------------
(* Administrators *)

(* A target is asked for, or another instead of the one under way.           *)
StartReassignment ==
    \E target \in Targets :
        LET data == [replicas |-> target]
            write == IF IsRequested THEN SetDataOp(ReassignmentPath, data, AnyVersion)
                     ELSE CreateOp(ReassignmentPath, data, NoSession)
        IN /\ target # requested
           /\ Spend("requests")
           /\ znodes' = Apply(<<write>>).tree
           /\ requested' = target
           /\ UNCHANGED <<controllers, replicas, messages>>

(* With its request the topic znode is written, as it is: the next request   *)
(* will have the version of this one again, and a step that was decided on   *)
(* this one must not be taken for the next.                                  *)
TouchTopic == <<SetDataOp(TopicPath, Topic, AnyVersion)>>

(* The administrator takes the request back (REAS-004). What is assigned     *)
(* without it stands: the old replicas before the switch, the new ones after.*)
CancelReassignment ==
    /\ IsRequested
    /\ Spend("cancellations")
    /\ znodes' = Apply(<<DeleteOp(ReassignmentPath, AnyVersion)>> \o TouchTopic).tree
    /\ requested' = Topic.assigned \ Topic.adding
    /\ UNCHANGED <<controllers, replicas, messages>>

-----------------------------------------------------------------------------
(* Controllers *)

(* The next epoch, in one multi with /controller, which is left out. A live  *)
(* controller is deposed only as a fault, and goes on with what it was about *)
(* to write. The new one remembers nothing.                                  *)
ElectController(c) ==
    /\ ~IsActive(c)
    /\ IF \E other \in Controllers : IsActive(other) /\ ~IsDeposed(other)
       THEN Spend("controller_expiries") ELSE UNCHANGED budget
    /\ znodes' = [znodes EXCEPT ![ControllerEpochPath].version = @ + 1]
    /\ controllers' = [controllers EXCEPT
                        ![c].controller_epoch = CurrentControllerEpoch + 1]
    /\ UNCHANGED <<replicas, messages, requested>>

(* The process dies with all it remembers, between any two of its steps.     *)
CrashController(c) ==
    /\ IsActive(c)
    /\ Spend("controller_crashes")
    /\ controllers' = [controllers EXCEPT ![c] = StandingController]
    /\ UNCHANGED <<znodes, replicas, messages, requested>>

(* A deposed controller notices at last and forgets everything (CTL-008).    *)
ResignController(c) ==
    /\ IsActive(c)
    /\ IsDeposed(c)
    /\ controllers' = [controllers EXCEPT ![c] = StandingController]
    /\ UNCHANGED <<znodes, replicas, messages, requested, budget>>

Settled == Topic.assigned \ Topic.adding

(* What the controller walks to: the request as it is now, or without one    *)
(* what was assigned before. It remembers none.                              *)
Target(c) == IF IsRequested THEN znodes[ReassignmentPath].data.replicas ELSE Settled
Remembered(c, target) == controllers[c].remembered
RequestVersion == znodes[ReassignmentPath].version

(* The replicas that are assigned while the new ones catch up.               *)
Bootstrapped(target) == Settled \cup target

(* The version on which a change of the topic znode was decided.             *)
AssignmentVersion == TopicVersion

WithTopic(assigned, adding) ==
    SetDataOp(TopicPath,
              [Topic EXCEPT !.assigned = assigned, !.adding = adding,
                            !.removing = (@ \cup Topic.assigned) \ assigned],
              AssignmentVersion)

(* The leader stays if it is a member of the new ISR.                        *)
LeaderWithin(isr) ==
    IF State.leader \in isr THEN State.leader ELSE CHOOSE b \in isr : \A other \in isr : b <= other

(* A decision of the controller raises the epoch (FAIL-004).                 *)
WithIsr(isr) ==
    SetDataOp(StatePath,
              [leader |-> LeaderWithin(isr), leader_epoch |-> State.leader_epoch + 1, isr |-> isr],
              StateVersion)

RequestCheck ==
    IF IsRequested THEN <<CheckOp(ReassignmentPath, RequestVersion)>> ELSE <<>>

(* Every target is in the ISR, whatever else is there (REAS-005).            *)
IsCaughtUp(target) == target \subseteq State.isr

(* First the target is persisted beside the old replicas, and what an older  *)
(* target had added is given up; assignment, ISR and leader change in one    *)
(* multi, so that no replica is in the ISR and not assigned.                 *)
BootstrapOps(target) ==
    LET assigned == Bootstrapped(target)
    IN RequestCheck \o <<WithTopic(assigned, target \ Settled), WithIsr(State.isr \cap assigned)>>

(* The switch: ISR and leader, and in the same multi the assignment. The     *)
(* state is written even where its ISR is the target already: the leader may *)
(* be about to admit an old replica that has come back. Where no replica     *)
(* leaves, the switch says that the added are there.                         *)
SwitchOps(target) == RequestCheck \o <<WithIsr(target), WithTopic(target, {})>>
IsSwitchDue(c, target) == Topic.assigned # target \/ Topic.adding # {}

(* The next step of the move, decided on what ZooKeeper holds at this moment.*)
AdvanceReassignment(c) ==
    LET target == Target(c)
        is_bootstrapped == Topic.assigned = Bootstrapped(target)
        can_switch == is_bootstrapped /\ IsSwitchDue(c, target) /\ IsCaughtUp(target)
        can_bootstrap == ~is_bootstrapped /\ State.isr \cap Bootstrapped(target) # {}
    IN /\ IsFree(c)
       /\ can_switch \/ can_bootstrap
       /\ controllers' = [controllers EXCEPT
                ![c].decision = IF can_switch THEN SwitchOps(target) ELSE BootstrapOps(target),
                ![c].remembered = Remembered(c, target)]
       /\ UNCHANGED <<znodes, replicas, messages, requested, budget>>

(* A live member of the ISR leads when the leader is down (V3 A.3.2); the    *)
(* ISR stays, it shrinks when the leader says so.                            *)
ElectLeader(c) ==
    LET live == {b \in State.isr : replicas[b].is_up}
    IN /\ IsFree(c)
       /\ ~replicas[State.leader].is_up
       /\ live # {}
       /\ controllers' = [controllers EXCEPT
                            ![c].decision = <<SetDataOp(StatePath,
                                [leader |-> CHOOSE b \in live : \A other \in live : b <= other,
                                 leader_epoch |-> State.leader_epoch + 1, isr |-> State.isr],
                                StateVersion)>>]
       /\ UNCHANGED <<znodes, replicas, messages, requested, budget>>

(* Another task of the same controller changes the same znode: it has read   *)
(* it and is about to write it with one partition more (V3 H.4). V3 locks    *)
(* the reassignment, and not this.                                           *)
AddPartitions(c) ==
    /\ IsActive(c)
    /\ ~IsDeposed(c)
    /\ controllers[c].addition = <<>>
    /\ Spend("additions")
    /\ controllers' = [controllers EXCEPT
                        ![c].addition = <<SetDataOp(TopicPath, [Topic EXCEPT !.partitions = @ + 1],
                            AssignmentVersion)>>]
    /\ UNCHANGED <<znodes, replicas, messages, requested>>

(* What every write of a controller checks in the same multi (ZK-005).       *)
Fence(c) == <<CheckOp(ControllerEpochPath, controllers[c].controller_epoch)>>
Written(c, ops) == znodes' = Apply(Fence(c) \o ops).tree

(* One multi behind a check of the controller epoch. Refused, it is dropped: *)
(* the next look at ZooKeeper decides again.                                 *)
PublishDecision(c) ==
    /\ \/ /\ controllers[c].decision # <<>>
          /\ Written(c, controllers[c].decision)
          /\ controllers' = [controllers EXCEPT ![c].decision = <<>>, ![c].is_stop_sent = FALSE]
       \/ /\ controllers[c].addition # <<>>
          /\ Written(c, controllers[c].addition)
          /\ controllers' = [controllers EXCEPT ![c].addition = <<>>]
    /\ UNCHANGED <<replicas, messages, requested, budget>>

(* The brokers that commands about the partition go to.                      *)
Addressed == Topic.assigned

(* The present state to all brokers that are assigned and have not obeyed    *)
(* its epoch, or have started since. New replicas bootstrap because of this  *)
(* command.                                                                  *)
SendLeaderAndIsr(c) ==
    LET news == {[type |-> "leader_and_isr", to |-> b, leader |-> State.leader, isr |-> State.isr,
                  leader_epoch |-> State.leader_epoch, znode_version |-> StateVersion] :
                    b \in {b \in Addressed \ Dead :
                            \/ replicas[b].leader_epoch < State.leader_epoch
                            \/ replicas[b].leader = NoBroker}}
    IN /\ IsActive(c)
       /\ ~IsDeposed(c)
       /\ ~(news \subseteq messages)
       /\ messages' = messages \cup news
       /\ UNCHANGED <<znodes, controllers, replicas, requested, budget>>

ToStop(c) == Topic.removing

(* To those that the assignment has lost, with the leader epoch of now.      *)
SendStopReplica(c) ==
    /\ IsFree(c)
    /\ ~controllers[c].is_stop_sent
    /\ ToStop(c) # {}
    /\ messages' = messages \cup
            {[type |-> "stop_replica", to |-> b, leader_epoch |-> State.leader_epoch] :
                b \in ToStop(c)}
    /\ controllers' = [controllers EXCEPT ![c].is_stop_sent = TRUE]
    /\ UNCHANGED <<znodes, replicas, requested, budget>>

(* The request goes when all is done and the stops are sent. A broker that   *)
(* is down deletes when it comes back. Only the request that was fulfilled   *)
(* is deleted: a changed one has another version, and one after another, on  *)
(* a topic znode that has another version.                                   *)
CompleteReassignment(c) ==
    LET cleared == <<[WithTopic(Topic.assigned, {}) EXCEPT !.data.removing = {}]>>
        done == IF IsRequested THEN <<DeleteOp(ReassignmentPath, RequestVersion)>> ELSE <<>>
    IN /\ IsFree(c)
       /\ Topic.assigned = Target(c)
       /\ Topic.adding = {}
       /\ Topic.removing = {} \/ controllers[c].is_stop_sent
       /\ IsRequested \/ Topic.removing # {}
       /\ controllers' = [controllers EXCEPT ![c].decision = cleared \o done,
                                             ![c].remembered = <<>>]
       /\ UNCHANGED <<znodes, replicas, messages, requested, budget>>

-----------------------------------------------------------------------------
(* Brokers *)

IsObeyed(b, m) ==
    /\ m.to = b
    /\ replicas[b].is_up
    /\ m.type = "leader_and_isr"
    /\ \/ m.leader_epoch > replicas[b].leader_epoch
       \/ m.leader_epoch = replicas[b].leader_epoch /\ m.znode_version > replicas[b].znode_version

Obey(b, m, isr) ==
    /\ messages' = messages \ {m}
    /\ replicas' = [replicas EXCEPT
                    ![b] = [is_up |-> TRUE, log |-> IF @.log = "absent" THEN "behind" ELSE @.log,
                            leader |-> m.leader, leader_epoch |-> m.leader_epoch, isr |-> isr,
                            znode_version |-> m.znode_version]]
    /\ UNCHANGED <<znodes, controllers, requested, budget>>

(* The replica leads, with ISR and version of the command.                   *)
BecomeLeader(b) == \E m \in messages : IsObeyed(b, m) /\ m.leader = b /\ Obey(b, m, m.isr)

(* The replica follows; one that is new starts with an empty directory.      *)
BecomeFollower(b) == \E m \in messages : IsObeyed(b, m) /\ m.leader # b /\ Obey(b, m, {})

(* A fetch and its answer in one step: the follower of this epoch catches up.*)
FollowerAppend(b) ==
    LET leader == replicas[b].leader
    IN /\ replicas[b].is_up
       /\ replicas[b].log = "behind"
       /\ leader \notin {b, NoBroker}
       /\ IsLeading(leader)
       /\ replicas[leader].leader_epoch = replicas[b].leader_epoch
       /\ replicas[leader].log = "complete"
       /\ replicas' = [replicas EXCEPT ![b].log = "complete"]
       /\ UNCHANGED <<znodes, controllers, messages, requested, budget>>

(* The replicas that a leader may admit. It has the assignment from the      *)
(* command that gave it the version: a write with the present version knows  *)
(* the present assignment.                                                   *)
Admitted == Addressed

ChangeIsr(b, isr) ==
    LET written == Apply(<<SetDataOp(StatePath, [State EXCEPT !.isr = isr],
                                     replicas[b].znode_version)>>)
    IN /\ written.ok
       /\ znodes' = written.tree
       /\ replicas' = [replicas EXCEPT ![b].isr = isr, ![b].znode_version = @ + 1]

IsOfThisEpoch(b, f) == replicas[f].leader_epoch = replicas[b].leader_epoch

(* A replica that has caught up in this epoch joins the ISR. A refused write *)
(* changes nothing here.                                                     *)
ExpandIsr(b, f) ==
    /\ IsLeading(b)
    /\ f \in Admitted \ replicas[b].isr
    /\ replicas[f].is_up
    /\ replicas[f].leader = b
    /\ IsOfThisEpoch(b, f)
    /\ replicas[f].log = "complete"
    /\ ChangeIsr(b, replicas[b].isr \cup {f})
    /\ UNCHANGED <<controllers, messages, requested, budget>>

(* A member that is down leaves the ISR.                                     *)
ShrinkIsr(b, f) ==
    /\ IsLeading(b)
    /\ f \in replicas[b].isr \ {b}
    /\ ~replicas[f].is_up
    /\ ChangeIsr(b, replicas[b].isr \ {f})
    /\ UNCHANGED <<controllers, messages, requested, budget>>

(* A broker that belongs to the partition in any way keeps its directory at  *)
(* a restart.                                                                *)
Members == Topic.assigned \cup State.isr \cup {State.leader}

(* A broker that has obeyed a later decision than the one that removed it    *)
(* has come back meanwhile (CMD-008).                                        *)
IsRemovedBy(b, m) == m.leader_epoch >= replicas[b].leader_epoch

(* The broker deletes its directory.                                         *)
StopReplica(b) ==
    \E m \in messages :
        /\ m.to = b
        /\ m.type = "stop_replica"
        /\ replicas[b].is_up
        /\ IsRemovedBy(b, m)
        /\ messages' = messages \ {m}
        /\ replicas' = [replicas EXCEPT
                        ![b] = [NoReplica EXCEPT !.leader_epoch = m.leader_epoch]]
        /\ UNCHANGED <<znodes, controllers, requested, budget>>

(* The process stops, its directory stays, and its role is forgotten.        *)
CrashBroker(b) ==
    /\ replicas[b].is_up
    /\ Spend("crashes")
    /\ replicas' = [replicas EXCEPT
                    ![b] = [NoReplica EXCEPT !.is_up = FALSE, !.log = replicas[b].log]]
    /\ UNCHANGED <<znodes, controllers, messages, requested>>

(* Belonging is more than the old assignment: the new replicas, the ISR and  *)
(* the leader.                                                               *)
Kept == Members

(* The broker reads ZooKeeper, deletes what it does not belong to (V3 E.4),  *)
(* and waits for a command that is not older than what it read.              *)
RestartBroker(b) ==
    LET gone == b \notin Kept
    IN /\ ~replicas[b].is_up
       /\ b \notin Dead
       /\ replicas' = [replicas EXCEPT
                        ![b] = [NoReplica EXCEPT !.log = IF gone THEN "absent" ELSE replicas[b].log,
                                                 !.leader_epoch = State.leader_epoch,
                                                 !.znode_version = StateVersion - 1]]
       /\ UNCHANGED <<znodes, controllers, messages, requested, budget>>

-----------------------------------------------------------------------------
Next ==
    \/ StartReassignment
    \/ CancelReassignment
    \/ \E c \in Controllers : ElectController(c)
    \/ \E c \in Controllers : CrashController(c)
    \/ \E c \in Controllers : ResignController(c)
    \/ \E c \in Controllers : AdvanceReassignment(c)
    \/ \E c \in Controllers : ElectLeader(c)
    \/ \E c \in Controllers : AddPartitions(c)
    \/ \E c \in Controllers : PublishDecision(c)
    \/ \E c \in Controllers : SendLeaderAndIsr(c)
    \/ \E c \in Controllers : SendStopReplica(c)
    \/ \E c \in Controllers : CompleteReassignment(c)
    \/ \E b \in Brokers : BecomeLeader(b)
    \/ \E b \in Brokers : BecomeFollower(b)
    \/ \E b \in Brokers : FollowerAppend(b)
    \/ \E b, f \in Brokers : ExpandIsr(b, f)
    \/ \E b, f \in Brokers : ShrinkIsr(b, f)
    \/ \E b \in Brokers : StopReplica(b)
    \/ \E b \in Brokers : CrashBroker(b)
    \/ \E b \in Brokers : RestartBroker(b)

(* What mends things goes on while it can. No such step undoes another for   *)
(* ever, so that one condition for all of them is enough.                    *)
Heal ==
    \/ \E c \in Controllers :
        \/ ElectController(c) /\ UNCHANGED budget
        \/ ResignController(c)
        \/ AdvanceReassignment(c)
        \/ ElectLeader(c)
        \/ PublishDecision(c)
        \/ SendLeaderAndIsr(c)
        \/ SendStopReplica(c)
        \/ CompleteReassignment(c)
    \/ \E b \in Brokers :
        \/ BecomeLeader(b)
        \/ BecomeFollower(b)
        \/ FollowerAppend(b)
        \/ \E f \in Brokers : ExpandIsr(b, f)
        \/ StopReplica(b)
        \/ RestartBroker(b)

Spec == Init /\ [][Next]_vars /\ WF_vars(Heal)

-----------------------------------------------------------------------------
(* The leader is a member of the ISR all the way.                            *)
\* @req ISR-006
\* @req REAS-002
LeaderInIsr == State.leader \in State.isr

(* No broker is in the ISR that is not assigned: another reader of the       *)
(* assignment would take such a replica for one to delete.                   *)
\* @req REAS-002
\* @req REAS-005
IsrSubsetAssigned == State.isr \subseteq Topic.assigned

(* Every member of the ISR, the leader among them, holds what is committed.  *)
\* @req REAS-002
LeaderComplete == \A b \in State.isr : replicas[b].log = "complete"

(* Some broker holds what is committed.                                      *)
\* @req REAS-002
NotGloballyLost == \E b \in Brokers : replicas[b].log = "complete"

(* No fewer copies than at the start, when no target is smaller than that.   *)
\* @req REAS-002
NoFewerCopies ==
    Cardinality({b \in Brokers : replicas[b].log = "complete"}) >= Cardinality(FirstIsr)

(* No replica that belongs to the partition loses its directory, nor what is *)
(* in it. A new one that has not joined the ISR may still lose it to a late  *)
(* command from before it was asked for: it starts again from nothing.       *)
\* @req CMD-008
\* @req REAS-005
DeleteOnlyIfUnassigned ==
    [][\A b \in Brokers :
        (\/ b \in znodes[TopicPath].data.assigned \ znodes[TopicPath].data.adding
         \/ b \in znodes[StatePath].data.isr
         \/ b = znodes[StatePath].data.leader)
            => /\ replicas[b].log = "complete" => replicas'[b].log = "complete"
               /\ replicas[b].log # "absent" => replicas'[b].log # "absent"]_vars

(* What a replica held in an earlier leader epoch counts for nothing: one    *)
(* that joins the ISR follows in the epoch of the state.                     *)
\* @req ISR-002
JoinsInThisEpoch ==
    [][znodes'[StatePath].data.leader_epoch = State.leader_epoch =>
        \A b \in znodes'[StatePath].data.isr \ State.isr :
            replicas[b].leader_epoch = State.leader_epoch]_vars

(* In the end what was asked for last is assigned, the request is gone and so*)
(* are the directories of others; unless a target can never catch up, which  *)
(* is for the administrator to take back.                                    *)
\* @req REAS-001
\* @req REAS-003
\* @req REAS-004
ReassignmentCompletes ==
    <>[](requested \cap Dead = {} =>
            /\ ~IsRequested
            /\ Topic.assigned = requested
            /\ Topic.removing = {}
            /\ \A b \in Brokers \ Dead : b \notin requested => replicas[b].log = "absent")

StateWrites(c) ==
    LET ops == controllers[c].decision
    IN {op \in {ops[i] : i \in DOMAIN ops} : op.op = "set_data" /\ op.path = StatePath}

(* The state names no controller; one that was deposed has decided nothing.  *)
AsStateZnode == INSTANCE StateZnode WITH
    BrokerOf <- LAMBDA b : b,
    state <- [leader |-> State.leader, leader_epoch |-> State.leader_epoch, isr |-> State.isr,
              controller_epoch |-> 0],
    version <- StateVersion,
    assigned <- Topic.assigned,
    decided_on <- UNION {{op.version : op \in StateWrites(c)} :
                            c \in {c \in Controllers : ~IsDeposed(c)}},
    asked_on <- {replicas[b].znode_version : b \in {b \in Brokers : IsLeading(b)}},
    controller_epoch <- 0,
    is_loss_told <- FALSE

(* A term ends before the next one begins, and a decision is written or      *)
(* forgotten before the next one is made: nothing is put in its place. One   *)
(* that is in office stays there, unless its process dies.                   *)
\* @req CTL-008
NothingIsReplaced ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        /\ now.controller_epoch # Standing =>
            \/ next.controller_epoch = now.controller_epoch
            \/ /\ next.controller_epoch = Standing
               /\ now.controller_epoch = CurrentControllerEpoch =>
                    budget'["controller_crashes"] < budget["controller_crashes"]
        /\ now.decision # <<>> => next.decision \in {now.decision, <<>>}
        /\ now.addition # <<>> => next.addition \in {now.addition, <<>>}]_vars

(* What a process knows ends with it, and what a controller knows with its   *)
(* term. Only a leader has an ISR.                                           *)
\* @req CTL-008
MemoryEnds ==
    /\ \A c \in Controllers : ~IsActive(c) => controllers[c] = StandingController
    /\ \A b \in Brokers :
        /\ ~replicas[b].is_up =>
            replicas[b] = [NoReplica EXCEPT !.is_up = FALSE, !.log = replicas[b].log]
        /\ replicas[b].leader = b <=> replicas[b].isr # {}
        /\ replicas[b].leader # NoBroker => replicas[b].log # "absent"

(* A leader that knows the version of the state knows the state.             *)
\* @req ZK-003
VersionAgreement ==
    \A b \in Brokers : IsLeading(b) /\ replicas[b].znode_version = StateVersion =>
        /\ State.leader = b
        /\ State.leader_epoch = replicas[b].leader_epoch
        /\ State.isr = replicas[b].isr

(* What a bound allows changes something else than what is left of it.       *)
BoundedStepsHaveEffect ==
    [][budget' # budget => <<znodes, controllers, replicas>>' # <<znodes, controllers, replicas>>
      ]_vars

(* A command tells what ZooKeeper holds when it is sent by the controller in *)
(* office, and no broker what it has done already; a stop goes to those that *)
(* the assignment has lost.                                                  *)
\* @req CMD-003
CommandsTellWhatIs ==
    [][\A m \in messages' \ messages :
        /\ m.leader_epoch = State.leader_epoch
        /\ m.type = "stop_replica" => m.to \in Topic.removing
        /\ m.type = "leader_and_isr" =>
            /\ \E c \in Controllers : controllers[c].controller_epoch = CurrentControllerEpoch
            /\ m.to \in Topic.assigned \ Dead
            /\ m.leader = State.leader
            /\ m.isr = State.isr
            /\ m.znode_version = StateVersion
            /\ replicas[m.to].leader # m.leader \/ replicas[m.to].leader_epoch # m.leader_epoch
      ]_vars

(* A command is gone when it is obeyed, which makes the replica what the     *)
(* command says; and it says something later than the replica knew.          *)
\* @req CMD-002
\* @req CMD-008
CommandsAreObeyed ==
    [][\A m \in messages \ messages' : LET known == replicas[m.to] next == replicas'[m.to] IN
        /\ known.is_up
        /\ next.is_up
        /\ next.leader_epoch = m.leader_epoch
        /\ known.leader_epoch <= m.leader_epoch
        /\ m.type = "stop_replica" => next = [NoReplica EXCEPT !.leader_epoch = m.leader_epoch]
        /\ m.type = "leader_and_isr" =>
            /\ next.leader = m.leader
            /\ next.isr = (IF m.leader = m.to THEN m.isr ELSE {})
            /\ next.znode_version = m.znode_version
            /\ known.leader_epoch = m.leader_epoch => known.znode_version < m.znode_version]_vars

(* A replica catches up from the broker that leads it, in its epoch.         *)
\* @req REPL-001
RecordsComeFromLeaders ==
    [][\A b \in Brokers : replicas[b].log = "behind" /\ replicas'[b].log = "complete" =>
        \E l \in Brokers \ {b} :
            /\ replicas[b].is_up /\ replicas[b].leader = l
            /\ replicas[l].is_up /\ replicas[l].leader = l
            /\ replicas[l].leader_epoch = replicas[b].leader_epoch
            /\ replicas[l].log = "complete"]_vars

(* What a running broker has obeyed it never takes back.                     *)
\* @req CMD-002
ObeyedStays ==
    [][\A b \in Brokers : replicas[b].is_up /\ replicas'[b].is_up =>
        /\ replicas'[b].leader_epoch >= replicas[b].leader_epoch
        /\ replicas'[b].leader_epoch = replicas[b].leader_epoch /\ replicas'[b].leader # NoBroker =>
            replicas'[b].znode_version >= replicas[b].znode_version]_vars

(* The znode of the state changes as `StateZnode` says, the assignment with  *)
(* it where replicas leave.                                                  *)
\* @req ZK-003
\* @req REAS-002
RefinesStateZnode == AsStateZnode!Spec

-----------------------------------------------------------------------------
(* What must be possible *)

IsPast(what) == budget[what] < Limits[what]
IsOver == ~IsRequested /\ Topic.removing = {} /\ Topic.adding = {} /\ StateVersion > 0
IsServed ==
    IsLeading(State.leader) /\ \A b \in Topic.assigned \ Dead :
        replicas[b].leader = State.leader /\ replicas[b].leader_epoch = State.leader_epoch

(* The move ends with the target alone in ISR and assignment, and no         *)
(* directory is left over.                                                   *)
MoveIsOver ==
    /\ IsOver /\ IsServed /\ Topic.assigned # FirstAssigned /\ State.isr = Topic.assigned
    /\ \A b \in Brokers \ (Topic.assigned \cup Dead) : replicas[b].log = "absent"

NothingIsLeftInFlight == MoveIsOver /\ messages = {}

(* Old and new replicas are all in the ISR before the switch.                *)
AllAreInSync ==
    Topic.adding # {} /\ State.isr = Topic.assigned /\ Settled \subseteq State.isr

(* The leader of before leads until the switch, and afterwards a new replica *)
(* does.                                                                     *)
NewReplicaLeads == State.leader \notin FirstAssigned /\ IsLeading(State.leader)
FormerLeaderStillLeads ==
    \E b \in Brokers : IsLeading(b) /\ replicas[b].leader_epoch < State.leader_epoch

(* It goes there and back; the target is changed on the way, or taken back.  *)
MovedBack ==
    /\ IsOver /\ IsServed /\ Topic.assigned = FirstAssigned
    /\ budget["requests"] + 2 <= Limits["requests"]
AddedIsGivenUp ==
    IsRequested /\ Topic.removing # {} /\ Topic.removing \cap FirstAssigned = {}
CancelledInTime ==
    IsPast("cancellations") /\ IsOver /\ IsServed /\ Topic.assigned = FirstAssigned
CancelledTooLate ==
    IsPast("cancellations") /\ IsOver /\ IsServed /\ Topic.assigned # FirstAssigned

(* Another controller goes on with the move; the deposed one has a decision  *)
(* left.                                                                     *)
SuccessorMoves == CurrentControllerEpoch > 1 /\ MoveIsOver
ZombieDecides == \E c \in Controllers : IsDeposed(c) /\ controllers[c].decision # <<>>

(* One that sees that it is deposed is a candidate again.                    *)
DeposedControllerResigns ==
    /\ CurrentControllerEpoch > 1
    /\ \E c \in Controllers : IsActive(c)
    /\ \A c \in Controllers : IsActive(c) => ~IsDeposed(c)

(* The other task adds its partition while the move goes on, or finds the    *)
(* topic changed.                                                            *)
PartitionIsAdded == Topic.partitions > 1 /\ MoveIsOver
AdditionIsRefused ==
    \E c \in Controllers : controllers[c].addition # <<>> /\ Topic.partitions = 1
        /\ controllers[c].addition[1].version # TopicVersion

(* A replica that is down leaves the ISR, comes back, and joins it again.    *)
DownReplicaLeavesIsr == \E b \in Topic.assigned \ (State.isr \cup Dead) : ~replicas[b].is_up
DownLeaderIsReplaced == ~replicas[FirstLeader].is_up /\ IsLeading(State.leader)
RestartedReplicaWaits ==
    \E b \in State.isr : replicas[b].is_up /\ replicas[b].leader = NoBroker
RestartedReplicaJoins == IsPast("crashes") /\ MoveIsOver
RestartDropsDirectory ==
    \E b \in FirstAssigned : IsPast("crashes") /\ replicas[b].is_up /\ b \notin Topic.assigned
        /\ replicas[b].log = "absent" /\ replicas[b].leader = NoBroker

(* A command and a stop come late.                                           *)
LateCommandIsRefused ==
    \E m \in messages : m.type = "leader_and_isr" /\ m.leader_epoch < replicas[m.to].leader_epoch
LateStopDeletesNothing ==
    \E m \in messages : m.type = "stop_replica" /\ ~IsRemovedBy(m.to, m)
        /\ replicas[m.to].log # "absent"

(* The target cannot be reached while one of it is dead.                     *)
DeadTargetIsAwaited == Topic.adding \cap Dead # {} /\ Topic.adding \ Dead \subseteq State.isr
DeadReplicaIsMovedAway ==
    MoveIsOver /\ FirstAssigned \cap Dead # {} /\ Topic.assigned \cap Dead = {}
=============================================================================
