--------------------------- MODULE ClusterControl ---------------------------
(* Administrators and controllers of `Cluster`: what is asked for, decided,  *)
(* written in one multi for all partitions, and told to the brokers.         *)
EXTENDS ClusterState

-----------------------------------------------------------------------------
(* Administrators *)

Ask(ops) ==
    LET written == Multi(znodes, ops, 0)
    IN /\ written.ok
       /\ znodes' = written.tree
       /\ UNCHANGED <<zxid, controllers, broker_vars, network_vars, history_vars>>

(* The topic and its id, in one multi.                                       *)
CreateTopic ==
    LET id == Limits["topics"] - budget["topics"] + 2
    IN /\ Spend("topics")
       /\ Ask(<<CreateOp(TopicPath, NewTopic(id), NoSession),
                CreateOp(TopicIdPaths[id], <<>>, NoSession)>>)

RECURSIVE DeleteStates(_)
DeleteStates(partitions) ==
    IF partitions = {} THEN <<>>
    ELSE LET p == Min(partitions)
         IN <<DeleteOp(StatePaths[p], AnyVersion)>> \o DeleteStates(partitions \ {p})

(* The topic with all that is under it, and what was asked for it.           *)
DeleteTopic ==
    /\ HasTopic
    /\ Spend("deletions")
    /\ Ask(<<DeleteOp(TopicPath, AnyVersion), DeleteOp(TopicIdPaths[CurrentTopic], AnyVersion)>>
            \o DeleteStates({p \in Partitions : HasState(p)})
            \o (IF IsRequested THEN <<DeleteOp(RequestPath, AnyVersion)>> ELSE <<>>))

(* Other replicas are asked for; one request at a time.                      *)
StartReassignment ==
    /\ HasTopic
    /\ Spend("requests")
    /\ \E p \in Partitions, target \in Targets :
        /\ target # Topic.assigned[p]
        /\ Ask(<<CreateOp(RequestPath, [partition |-> p, target |-> target, topic |-> Topic.id],
                          NoSession)>>)

(* The request is taken back; the topic znode is written with it, so that a  *)
(* step that was decided on this request is not taken for the next.          *)
CancelReassignment ==
    /\ IsRequested
    /\ HasTopic
    /\ Spend("cancellations")
    /\ Ask(<<DeleteOp(RequestPath, AnyVersion), SetDataOp(TopicPath, Topic, AnyVersion)>>)

-----------------------------------------------------------------------------
(* The office *)

Present(p) == [partition |-> p, state |-> State(p), version |-> StateVersion(p)]

(* Is this member of an ISR the incarnation that the controller sees?        *)
IsCurrent(c, member) == controllers[c].view[member.broker] = member.broker_epoch

CurrentMembers(c, p) == {member \in State(p).isr : IsCurrent(c, member)}

(* A member is gone or is another incarnation, or the leader is. A partition *)
(* that waits already, without a member left, needs no decision: its ISR is  *)
(* kept (FAIL-003), and a person decides.                                    *)
NeedsDecision(c, p) ==
    /\ HasState(p)
    /\ \/ State(p).isr # CurrentMembers(c, p) /\ CurrentMembers(c, p) # {}
       \/ /\ State(p).leader \notin MemberIds(CurrentMembers(c, p))
          /\ State(p).leader # NoBroker \/ CurrentMembers(c, p) # {}

Settled(p) == Topic.assigned[p] \ Topic.adding[p]

(* /controller and the raised epoch in one multi (CTL-005). The new          *)
(* controller remembers nothing: it reads, and tells everything.             *)
ElectController(c) ==
    LET epoch == znodes[ControllerEpochPath].data + 1
        written == Multi(znodes, <<CreateOp(ControllerPath, <<>>, c),
                                   SetDataOp(ControllerEpochPath, epoch, AnyVersion)>>, zxid + 1)
    IN /\ ~IsActive(c)
       /\ written.ok
       /\ znodes' = written.tree
       /\ zxid' = zxid + 1
       /\ controllers' = [controllers EXCEPT
            ![c] = [StandingController EXCEPT
                !.status = "active", !.controller_epoch = epoch, !.czxid = zxid + 1,
                !.view = Registrations, !.topic = CurrentTopic,
                !.to_tell = {Present(p) : p \in {p \in Partitions : HasState(p)}}]]
       /\ UNCHANGED <<broker_vars, network_vars, budget, history_vars>>

(* A controller that sees that the office is another's forgets everything.   *)
ResignController(c) ==
    /\ IsActive(c)
    /\ ~InOffice(c)
    /\ controllers' = [controllers EXCEPT ![c] = StandingController]
    /\ UNCHANGED <<zookeeper_vars, broker_vars, network_vars, budget, history_vars>>

(* Registrations are compared by epoch (BEP-006): any number of changes is   *)
(* seen as one, and a bounce is a failure and a start. Arrivals are told     *)
(* what stands.                                                              *)
DetectBrokerChange(c) ==
    LET arrived == {b \in Brokers : Registrations[b] \notin {Unregistered, controllers[c].view[b]}}
    IN /\ IsActive(c)
       /\ controllers[c].view # Registrations
       /\ controllers' = [controllers EXCEPT
            ![c].view = Registrations,
            ![c].to_tell = IF arrived = {} THEN @
                           ELSE {Present(p) : p \in {p \in Partitions : HasState(p)}}]
       /\ UNCHANGED <<zookeeper_vars, broker_vars, network_vars, budget, history_vars>>

GoneTopics(c) == {controllers[c].topic} \ {NoTopic}

(* Topics are compared by id (TOP-003): one that is gone is to be stopped.   *)
DetectTopicChange(c) ==
    /\ IsActive(c)
    /\ controllers[c].topic # CurrentTopic
    /\ controllers' = [controllers EXCEPT
            ![c].topic = CurrentTopic, ![c].is_stop_sent = FALSE, ![c].to_tell = {},
            ![c].to_stop = @ \cup GoneTopics(c)]
    /\ UNCHANGED <<zookeeper_vars, broker_vars, network_vars, budget, history_vars>>

-----------------------------------------------------------------------------
(* Decisions: what is read and concluded, to be written in one multi *)

IsFree(c) ==
    /\ IsActive(c)
    /\ controllers[c].decision = <<>>
    /\ controllers[c].topic # NoTopic
    /\ controllers[c].topic = CurrentTopic

NoWrites == [incarnation |-> NoTopic, states |-> {}, topic |-> <<>>, request |-> <<>>]

Decide(c, decision) ==
    /\ controllers' = [controllers EXCEPT
                        ![c].decision = <<[decision EXCEPT !.incarnation = CurrentTopic]>>]
    /\ UNCHANGED <<zookeeper_vars, broker_vars, network_vars, history_vars>>

StateWrite(c, p, leader, leader_epoch, isr) ==
    [partition |-> p, version |-> IF HasState(p) THEN StateVersion(p) ELSE NoVersion,
     state |-> [leader |-> leader, leader_epoch |-> leader_epoch, isr |-> isr,
                controller_epoch |-> controllers[c].controller_epoch]]

LiveAssigned(c, p) == {b \in Topic.assigned[p] : controllers[c].view[b] # Unregistered}

(* The first leader and ISR of each partition that has no state (CTL-011).   *)
InitLeader(c) ==
    LET due == {p \in Partitions : ~HasState(p) /\ LiveAssigned(c, p) # {}}
        isr(p) == {Member(b, controllers[c].view[b]) : b \in LiveAssigned(c, p)}
    IN /\ IsFree(c)
       /\ due # {}
       /\ Decide(c, [NoWrites EXCEPT
            !.states = {StateWrite(c, p, Min(LiveAssigned(c, p)), 0, isr(p)) : p \in due}])
       /\ UNCHANGED budget

ElectedIsr(c, p) == IF CurrentMembers(c, p) = {} THEN State(p).isr ELSE CurrentMembers(c, p)

ElectedLeaders(c, p) ==
    LET ids == MemberIds(CurrentMembers(c, p))
    IN CASE State(p).leader \in ids -> {State(p).leader}
         [] ids # {} -> ids
         [] OTHER -> {NoBroker}

(* One failover, all partitions: the decisions go into one multi. A live     *)
(* leader stays; else any current member leads.                              *)
ElectLeader(c) ==
    LET due == {p \in Partitions : NeedsDecision(c, p)}
    IN /\ IsFree(c)
       /\ due # {}
       /\ Spend("elections")
       /\ \E leader \in [due -> Brokers \cup {NoBroker}] :
            /\ \A p \in due : leader[p] \in ElectedLeaders(c, p)
            /\ Decide(c, [NoWrites EXCEPT
                !.states = {StateWrite(c, p, leader[p], State(p).leader_epoch + 1,
                                       ElectedIsr(c, p)) : p \in due}])

(* What the controller walks to: the request, or without one what was        *)
(* assigned before.                                                          *)
Target(p) == IF IsRequested /\ Request.partition = p THEN Request.target ELSE Settled(p)

(* New replicas are assigned beside the old ones before they are told.       *)
Bootstrapped(p) == Settled(p) \cup Target(p)

(* The switch waits for the new replicas and for no others (REAS-005).       *)
IsCaughtUpTo(c, p) == Target(p) \subseteq MemberIds(CurrentMembers(c, p))

SwitchedLeaders(p, isr) ==
    IF State(p).leader \in MemberIds(isr) THEN {State(p).leader} ELSE MemberIds(isr)

TopicWith(p, assigned, adding) ==
    [Topic EXCEPT !.assigned[p] = assigned, !.adding[p] = adding,
                  !.removing[p] = (@ \cup Topic.assigned[p]) \ assigned]

Checked == IF IsRequested THEN <<"check">> ELSE <<>>

(* Assignment, ISR and leader change in one multi, so that no replica is in  *)
(* the ISR and not assigned, and no leader outside the ISR.                  *)
Move(c, p, assigned, adding) ==
    LET isr == {member \in State(p).isr : member.broker \in assigned}
    IN \E leader \in SwitchedLeaders(p, isr) :
        Decide(c, [NoWrites EXCEPT
            !.states = {StateWrite(c, p, leader, State(p).leader_epoch + 1, isr)},
            !.topic = <<[data |-> TopicWith(p, assigned, adding), version |-> TopicVersion]>>,
            !.request = Checked])

IsMoveDue(p) == Topic.assigned[p] # Target(p) \/ Topic.adding[p] # {}

(* The next step of a move follows from what ZooKeeper holds: the target is  *)
(* assigned beside the old replicas; when it has caught up, alone.           *)
AdvanceReassignment(c) ==
    /\ IsFree(c)
    /\ \E p \in Partitions :
        /\ HasState(p)
        /\ IsMoveDue(p)
        /\ ~NeedsDecision(c, p)
        /\ State(p).leader # NoBroker
        /\ IF Topic.assigned[p] # Bootstrapped(p)
           THEN /\ MemberIds(State(p).isr) \cap Bootstrapped(p) # {}
                /\ Move(c, p, Bootstrapped(p), Target(p) \ Settled(p))
           ELSE IsCaughtUpTo(c, p) /\ Move(c, p, Target(p), {})
    /\ UNCHANGED budget

AreStopsSent(c, p) == Topic.removing[p] = {} \/ controllers[c].is_stop_sent

RequestOnceDone(p) == IF IsRequested /\ Request.partition = p THEN <<"delete">> ELSE Checked

(* The request goes when all is done and the stops are sent.                 *)
CompleteReassignment(c) ==
    /\ IsFree(c)
    /\ \E p \in Partitions :
        /\ ~IsMoveDue(p)
        /\ AreStopsSent(c, p)
        /\ (IsRequested /\ Request.partition = p) \/ Topic.removing[p] # {}
        /\ Decide(c, [NoWrites EXCEPT
            !.topic = <<[data |-> [Topic EXCEPT !.removing[p] = {}], version |-> TopicVersion]>>,
            !.request = RequestOnceDone(p)])
    /\ UNCHANGED budget

-----------------------------------------------------------------------------
(* Writes *)

(* What every write of a controller checks in the same multi (ZK-005): the   *)
(* epoch, which a successor raises, and /controller itself.                  *)
Fence(c) ==
    <<CheckOp(ControllerEpochPath, controllers[c].controller_epoch), CheckOp(ControllerPath, 0)>>

(* Versions of two incarnations are not comparable; the topic's id is in     *)
(* every write about it.                                                     *)
IdCheck(incarnation) == <<CheckOp(TopicIdPaths[incarnation], AnyVersion)>>

StateOp(write) ==
    IF write.version = NoVersion THEN CreateOp(StatePaths[write.partition], write.state, NoSession)
    ELSE SetDataOp(StatePaths[write.partition], write.state, write.version)

RECURSIVE InOrder(_)
InOrder(writes) ==
    IF writes = {} THEN <<>>
    ELSE LET first == CHOOSE w \in writes : \A other \in writes : w.partition <= other.partition
         IN <<first>> \o InOrder(writes \ {first})

StateOps(decision) ==
    LET writes == InOrder(decision.states) IN [i \in DOMAIN writes |-> StateOp(writes[i])]

TopicOps(decision) ==
    IF decision.topic = <<>> THEN <<>>
    ELSE <<SetDataOp(TopicPath, decision.topic[1].data, decision.topic[1].version)>>

RequestOps(decision) ==
    CASE decision.request = <<"check">> -> <<CheckOp(RequestPath, 0)>>
      [] decision.request = <<"delete">> -> <<DeleteOp(RequestPath, 0)>>
      [] OTHER -> <<>>

DecisionWrite(c) ==
    LET decision == controllers[c].decision[1]
    IN Multi(znodes, Fence(c) \o IdCheck(decision.incarnation) \o RequestOps(decision)
                        \o StateOps(decision) \o TopicOps(decision), 0)

Written(write) == [partition |-> write.partition, state |-> write.state,
                   version |-> write.version + 1]

IsApplied(write) ==
    /\ HasState(write.partition)
    /\ StateVersion(write.partition) = write.version + 1
    /\ State(write.partition) = write.state

(* What is told of a multi that was refused: nothing of it was written       *)
(* (FAIL-006). It is decided anew.                                           *)
ToldOfRefused(decision) == {}

Forget(c) == [controllers[c] EXCEPT !.decision = <<>>, !.is_reply_lost = FALSE]

AfterWrite(c, told) ==
    [Forget(c) EXCEPT
        !.to_tell = {old \in @ : \A new \in told : new.partition # old.partition} \cup told,
        !.is_stop_sent = IF controllers[c].decision[1].topic = <<>> THEN @ ELSE FALSE]

IsDeposed(c) == Exists(znodes, ControllerPath) /\ ~InOffice(c)

(* All of a multi or nothing. After a lost reply the controller reads back:  *)
(* what is as written is told (ZK-006), the rest is decided anew.            *)
PublishDecision(c) ==
    /\ controllers[c].decision # <<>>
    /\ LET decision == controllers[c].decision[1]
           written == DecisionWrite(c)
           all == {Written(write) : write \in decision.states}
       IN IF controllers[c].is_reply_lost
          THEN /\ controllers' = [controllers EXCEPT ![c] =
                    AfterWrite(c, {Written(w) : w \in {w \in decision.states : IsApplied(w)}})]
               /\ UNCHANGED <<znodes, breaches>>
          ELSE /\ znodes' = written.tree
               /\ controllers' = [controllers EXCEPT ![c] =
                    IF written.ok THEN AfterWrite(c, all)
                    ELSE AfterWrite(c, ToldOfRefused(decision))]
               /\ breaches' = breaches
                    \cup Breached("StaleControllerHarmless", c, written.ok /\ IsDeposed(c))
    /\ UNCHANGED <<zxid, broker_vars, network_vars, budget, committed, acknowledged, held>>

(* ZooKeeper applied a decision, and its author does not know.               *)
LoseControllerReply(c) ==
    /\ controllers[c].decision # <<>>
    /\ ~controllers[c].is_reply_lost
    /\ LET written == DecisionWrite(c)
       IN /\ written.ok
          /\ znodes' = written.tree
          /\ breaches' = breaches \cup Breached("StaleControllerHarmless", c, IsDeposed(c))
    /\ controllers' = [controllers EXCEPT ![c].is_reply_lost = TRUE]
    /\ UNCHANGED <<zxid, broker_vars, network_vars, committed, acknowledged, held>>

-----------------------------------------------------------------------------
(* Commands: each names the controller, the incarnation of the broker that   *)
(* it was built for, and the incarnation of the topic *)

Addressed(c, p) == {b \in Topic.assigned[p] : controllers[c].view[b] # Unregistered}

(* A bounced leader has failed before it starts: a state that names it waits *)
(* for its decision.                                                         *)
IsTellable(c, told) ==
    \/ told.state.leader = NoBroker
    \/ \E member \in told.state.isr : member.broker = told.state.leader /\ IsCurrent(c, member)

IsTopicKnown(c) == controllers[c].topic = CurrentTopic

SendLeaderAndIsr(c) ==
    /\ controllers[c].to_tell # {}
    /\ IsTopicKnown(c)
    /\ HasTopic
    /\ messages' = messages \cup UNION {
            {[type |-> "leader_and_isr", to |-> b, partition |-> told.partition,
              incarnation |-> controllers[c].topic, leader |-> told.state.leader,
              leader_epoch |-> told.state.leader_epoch, isr |-> told.state.isr,
              version |-> told.version, controller_epoch |-> controllers[c].controller_epoch,
              broker_epoch |-> controllers[c].view[b]] : b \in Addressed(c, told.partition)} :
            told \in {told \in controllers[c].to_tell : IsTellable(c, told)}}
    /\ controllers' = [controllers EXCEPT ![c].to_tell = {}]
    /\ UNCHANGED <<zookeeper_vars, broker_vars, fetches, budget, history_vars>>

Stop(c, b, p, incarnation, leader_epoch) ==
    [type |-> "stop_replica", to |-> b, partition |-> p, incarnation |-> incarnation,
     leader_epoch |-> leader_epoch, controller_epoch |-> controllers[c].controller_epoch,
     broker_epoch |-> controllers[c].view[b]]

Removed(p) == IF HasTopic THEN Topic.removing[p] ELSE {}

(* To all brokers, about a topic that is gone; and to those that the         *)
(* assignment has lost, with the leader epoch of now.                        *)
SendStopReplica(c) ==
    LET live == {b \in Brokers : controllers[c].view[b] # Unregistered}
        removals == {p \in Partitions : Removed(p) # {} /\ HasState(p)}
    IN /\ IsActive(c)
       /\ \/ /\ controllers[c].to_stop # {}
             /\ messages' = messages \cup
                    {Stop(c, b, p, id, Ended) :
                        b \in live, p \in Partitions, id \in controllers[c].to_stop}
             /\ controllers' = [controllers EXCEPT ![c].to_stop = {}]
          \/ /\ removals # {}
             /\ IsFree(c)
             /\ ~controllers[c].is_stop_sent
             /\ messages' = messages \cup UNION {
                    {Stop(c, b, p, CurrentTopic, State(p).leader_epoch) :
                        b \in Removed(p) \cap live} : p \in removals}
             /\ controllers' = [controllers EXCEPT ![c].is_stop_sent = TRUE]
       /\ UNCHANGED <<zookeeper_vars, broker_vars, fetches, budget, history_vars>>
=============================================================================
