----------------------------- MODULE TraceLoss ------------------------------
(* Records that a run loses and is allowed to: an election that says so, and *)
(* a disk that forgets. What was committed is from that election on what its *)
(* leader has; a broker that has not followed since then may still hold, and *)
(* call committed, what went.                                                *)
EXTENDS TraceState

VARIABLES
    forgotten,      \* members of the ISR with a disk that lost what they had told of
    warned,         \* per controller whether its decision says that records may be lost
    loss_epoch,     \* leader epoch of the last election that could lose some, NoEpoch without
    estranged       \* the brokers that may not have heard of that

loss_vars == <<forgotten, warned, loss_epoch, estranged>>

LossInit ==
    /\ forgotten = {}
    /\ warned = [c \in Controllers |-> FALSE]
    /\ loss_epoch = Metadata!NoEpoch
    /\ estranged = {}

Starts == {"LogRecovered", "NodeStarted"}
WritesOfState == {"ZkWriteState", "ZkMove"}

(* The state that ZooKeeper takes is of an election that says that records   *)
(* may be lost, and its leader may lack some: it is no member of the ISR,    *)
(* its disk has forgotten, or it has not heard of the election before.       *)
IsLosing ==
    /\ past # <<>>
    /\ Event.leader_epoch > LatestLeaderEpoch
    /\ Event.leader \in Brokers
    /\ Event.broker_id \in Controllers
    /\ warned[Event.broker_id]
    /\ Event.leader \in (Brokers \ past[Len(past)].state.isr) \cup forgotten \cup estranged

(* What the new leader lacks is committed no more.                           *)
LoseRecords ==
    IF IsLosing
    THEN LET kept == agreed[Event.leader]
         IN /\ committed_log' = SubSeq(committed_log, 1, kept)
            /\ agreed' = [b \in Brokers |-> Min({agreed[b], kept})]
            /\ UNCHANGED <<logs, tenures, obeyed, requests>>
    ELSE UNCHANGED record_vars

(* A leader of before goes on for itself: nothing that it commits stays.     *)
IsOfBefore(leader_epoch) == leader_epoch < loss_epoch

(* What it commits beyond that, or knew to be committed when it began to     *)
(* lead, is what stays.                                                      *)
CommittedBy(l, leader_epoch, end) ==
    IF IsOfBefore(leader_epoch) THEN committed_log ELSE Committed(l, end)
ResumedBy(l, leader_epoch) ==
    IF loss_epoch = Metadata!NoEpoch \/ agreed[l] < Len(committed_log) THEN committed_log
    ELSE CommittedBy(l, leader_epoch, Min({logs[l].high_watermark, EndOffset(l)}))

-----------------------------------------------------------------------------
(* After a line *)

(* Its controller, which sees that the broker was away, removes it from the  *)
(* ISR; if another one takes over before, the broker stays a member (H2b).   *)
HasLost(b) == Len(logs'[b].records) < Len(logs[b].records)
ForgottenNext ==
    CASE Event.action \in Starts /\ Event.is_forgetful /\ HasLost(Event.broker_id) ->
            forgotten \cup {Event.broker_id}
      [] Event.action \in WritesOfState -> IF IsLosing THEN {} ELSE forgotten \cap Event.isr
      [] OTHER -> forgotten

WarnedNext ==
    CASE Is("ElectLeader") ->
            [warned EXCEPT ![Event.broker_id] = Event.is_unclean \/ Event.is_loss_possible]
      [] Is("InitLeader") -> [warned EXCEPT ![Event.broker_id] = FALSE]
      [] OTHER -> warned

(* It leads since, or follows and has cut its log.                           *)
HasJoined(b) ==
    /\ replicas'[b].leader_epoch >= loss_epoch
    /\ \/ replicas'[b].role \in {"leader", "fenced"}
       \/ replicas'[b].role = "follower" /\ logs'[b].is_truncated

EstrangedNext ==
    IF Event.action \in WritesOfState /\ IsLosing THEN Brokers
    ELSE IF estranged = {} THEN estranged
    ELSE {b \in estranged : ~HasJoined(b) \/ logs'[b].high_watermark > agreed'[b]}

LossStep ==
    /\ forgotten' = ForgottenNext
    /\ warned' = WarnedNext
    /\ loss_epoch' = IF Event.action \in WritesOfState /\ IsLosing THEN Event.leader_epoch ELSE loss_epoch
    /\ estranged' = EstrangedNext
=============================================================================
