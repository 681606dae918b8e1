-------------------------- MODULE BrokerEpochUpgrade --------------------------
(* The rolling upgrade from level 2, at which nothing names an incarnation,  *)
(* to level 3, at which commands, fetches and members of the ISR do, and the *)
(* way back before the second pass (UMD-003). The first pass brings the code *)
(* to one broker after the other: it understands what level 3 says, and says *)
(* what level 2 does. The second lets one after the other speak level 3.     *)
(*                                                                           *)
(* `Fencing` has everything else; a configuration puts the operators that    *)
(* are called `...Mixed` in place of its own: there a cluster is of one      *)
(* level, here each broker speaks one. Brokers end in good order, so that    *)
(* their logs stay: what level 2 loses in a crash while the controller       *)
(* changes is its known attack. The controller is on some broker, and its    *)
(* successor on any: it speaks what that one does, and remembers nothing.    *)
EXTENDS Fencing

CONSTANT FirstCode  \* what every broker understands at first: 2, or 3 once the first pass is over

VARIABLE protocols  \* per broker the level that it speaks; `level` is what it understands

upgrade_vars == <<vars, protocols>>

ASSUME Level = 2 /\ FirstCode \in {2, 3}

FirstLevelMixed == FirstCode

UpgradeInit ==
    /\ Init
    /\ protocols = [b \in Brokers |-> 2]

-----------------------------------------------------------------------------
(* What is said                                                              *)

(* A fetch names the incarnation that asks, from level 3 on, and a leader    *)
(* knows and admits a follower by what that says, at whichever level.        *)
FetchEpochMixed(f) == IF protocols[f] = 2 THEN NoBrokerEpoch ELSE replicas[f].broker_epoch
JoiningMixed(l, f) == {seen \in replicas[l].caught_up : seen.broker = f}
HasReachedMixed(l, member) == member.broker = l \/ member \in replicas[l].caught_up

(* A command of a controller that speaks level 2 names none. Brokers with the*)
(* code of level 3 obey it; those with that of level 2 know no other.        *)
NamesNone(m) == m.broker_epoch = NoBrokerEpoch
IsUnderstoodMixed(b, m) == NamesNone(m) \/ replicas[b].level = 3
ObeysUnread == FALSE
IsForThisIncarnationMixed(b, m) ==
    \/ NamesNone(m)
    \/ IF IsUnderstoodMixed(b, m) THEN m.broker_epoch >= replicas[b].broker_epoch ELSE ObeysUnread
IsOfAnotherMixed(b, m) == ~NamesNone(m) /\ m.built_for # incarnations[b]

-----------------------------------------------------------------------------
(* What a controller makes of it                                             *)

(* At both levels it remembers which brokers it saw bounce. One that speaks  *)
(* level 3 compares members with the incarnation that is registered, where   *)
(* they have one, and gives one to those that have none.                     *)
RememberedMixed(differing) == differing
IsCurrentMixed(member, epochs) ==
    /\ IsAsRemembered(member, epochs)
    /\ controller.level = 2 \/ member.broker_epoch \in {NoBrokerEpoch, epochs[member.broker]}
NamedMixed(members) ==
    IF controller.level = 2 THEN members
    ELSE {[member EXCEPT !.broker_epoch = controller.view[member.broker]] : member \in members}
AloneMixed(b) ==
    {[broker |-> b,
      broker_epoch |-> IF controller.level = 2 THEN NoBrokerEpoch ELSE controller.view[b]]}

-----------------------------------------------------------------------------
(* The two passes                                                            *)

(* One that knows what it reads.                                             *)
Successor(level) ==
    [view |-> Registrations, bounced |-> {}, is_send_due |-> TRUE, level |-> level]

(* Where no broker is left that speaks what the controller does, this one was*)
(* it, and another one of its level is.                                      *)
Restart(b, code, protocol) ==
    /\ IsUp(b)
    /\ replicas' = [replicas EXCEPT ![b] = [StoppedReplica(@) EXCEPT !.level = code]]
    /\ protocols' = [protocols EXCEPT ![b] = protocol]
    /\ controller' = IF \E other \in Brokers : protocols'[other] = controller.level
                     THEN controller ELSE Successor(protocol)
    /\ UNCHANGED <<znodes, zxid, messages, history>>

(* First pass.                                                               *)
ProtocolWithCode == 2
BringCode(b) ==
    replicas[b].level = 2 /\ Spend("upgrades") /\ Restart(b, 3, ProtocolWithCode)

(* The way back, as long as no broker speaks level 3.                        *)
MayTakeBack == \A b \in Brokers : protocols[b] = 2
TakeCodeBack(b) ==
    replicas[b].level = 3 /\ MayTakeBack /\ Spend("downgrades") /\ Restart(b, 2, 2)

(* Second pass, when every broker has the code.                              *)
MaySpeak == \A b \in Brokers : replicas[b].level = 3
RaiseProtocol(b) ==
    protocols[b] = 2 /\ MaySpeak /\ Spend("upgrades") /\ Restart(b, replicas[b].level, 3)

(* Another broker is controller.                                             *)
SpokenBy(b) == protocols[b]
SucceedController ==
    /\ Spend("controller_changes")
    /\ \E b \in Brokers : controller' = Successor(SpokenBy(b))
    /\ UNCHANGED <<znodes, zxid, replicas, messages, history, protocols>>

-----------------------------------------------------------------------------
OtherSteps ==
    \/ \E b \in Brokers : ExpireSession(b)
    \/ \E b \in Brokers : RegisterBroker(b)
    \/ DetectBrokerChange
    \/ ElectLeader
    \/ SendLeaderAndIsr
    \/ \E b \in Brokers : BecomeLeader(b)
    \/ \E b \in Brokers : BecomeFollower(b)
    \/ \E l \in Brokers : LeaderAppend(l)
    \/ \E f \in Brokers : FollowerAppend(f)
    \/ \E f \in Brokers : TruncateLog(f)
    \/ \E l, f \in Brokers : ServeFetch(l, f)
    \/ \E l \in Brokers : AdvanceHighWatermark(l)
    \/ \E l, f \in Brokers : ExpandIsr(l, f)

UpgradeNext ==
    \/ OtherSteps /\ UNCHANGED protocols
    \/ \E b \in Brokers : BringCode(b)
    \/ \E b \in Brokers : TakeCodeBack(b)
    \/ \E b \in Brokers : RaiseProtocol(b)
    \/ SucceedController

-----------------------------------------------------------------------------
UpgradeTypeOK ==
    /\ TypeOK
    /\ protocols \in [Brokers -> {2, 3}]
    /\ controller.level \in {2, 3}

(* No broker speaks what another one does not understand.                    *)
\* @req UMD-003
SpokenIsUnderstood == \A a, b \in Brokers : protocols[a] <= replicas[b].level

(* A broker changes its code or its level when it ends, one of the two and   *)
(* by one level; what it has written stays.                                  *)
\* @req UMD-003
OnePassAtATime ==
    [][\A b \in Brokers : LET now == replicas[b] next == replicas'[b] IN
        <<next.level, protocols'[b]>> # <<now.level, protocols[b]>> =>
            /\ now.role # "down" /\ next.role = "down"
            /\ next.has_record = now.has_record
            /\ next.level = now.level \/ protocols'[b] = protocols[b]
            /\ protocols'[b] >= protocols[b]
            /\ \A other \in Brokers \ {b} :
                <<replicas'[other].level, protocols'[other]>>
                    = <<replicas[other].level, protocols[other]>>]_upgrade_vars

(* A controller speaks what a broker does.                                   *)
\* @req UMD-003
ControllersSpeakAsBrokers ==
    [][controller'.level # controller.level =>
        \E b \in Brokers : protocols[b] = controller'.level]_upgrade_vars

-----------------------------------------------------------------------------
(* What must be possible                                                     *)

(* All speak level 3, the ISR names incarnations, and a record is committed. *)
AllSpeak ==
    /\ \A b \in Brokers : protocols[b] = 3
    /\ \A member \in State.isr : member.broker_epoch = incarnations[member.broker]
    /\ Cardinality(State.isr) = Cardinality(Brokers)
    /\ is_committed

(* All have the code and none speaks it, and it is taken back everywhere.    *)
CodeIsTakenBack ==
    /\ FirstCode = 3 /\ \A b \in Brokers : replicas[b].level = 2 /\ IsUp(b)
    /\ Cardinality(State.isr) = Cardinality(Brokers)

(* A controller of level 2 finds members that are named, and one of level 3  *)
(* some that are not.                                                        *)
OlderControllerFindsNames ==
    controller.level = 2 /\ \E member \in State.isr : member.broker_epoch # NoBrokerEpoch
NewerControllerFindsNone ==
    controller.level = 3 /\ \A member \in State.isr : member.broker_epoch = NoBrokerEpoch

(* A command that names no incarnation is obeyed where names are understood. *)
OlderCommandIsObeyed ==
    \E b \in Brokers : replicas[b].level = 3 /\ controller.level = 2
        /\ replicas[b].role \in {"leader", "follower"} /\ State.leader_epoch > 0
=============================================================================
