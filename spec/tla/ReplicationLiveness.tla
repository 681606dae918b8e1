------------------------ MODULE ReplicationLiveness -------------------------
(* What must happen some day once the faults are over. Their bounds end      *)
(* them, so do the wishes of leaders; what heals goes on. A broker that died *)
(* may stay dead, so each promise names the brokers on which it rests.       *)
EXTENDS ReplicationProperties

(* Every variable has the shape that its readers expect.                     *)
TypeOK == LogsTypeOK

(* None of this can go on for ever, so that one condition for all is enough. *)
Healing ==
    \/ \E b \in Brokers :
          \/ RegisterBroker(b) \/ LearnController(b) \/ BecomeLeader(b) \/ BecomeFollower(b)
          \/ TruncateLog(b) \/ AdoptIsr(b) \/ FenceLeader(b) \/ AdvanceHighWatermark(b)
    \/ \E b, f \in Brokers : ExpandIsr(b, f)
    \/ \E c \in Controllers :
          \/ ElectController(c) \/ ResignController(c) \/ DetectBrokerChange(c) \/ ElectLeader(c)
          \/ PublishDecision(c) \/ SendLeaderAndIsr(c)

(* Fetching goes on for ever, and must not keep the rest from happening.     *)
IsServed(f) == \E l \in Brokers : ServeFetch(l, f)

Spec ==
    /\ Init
    /\ [][Next]_vars
    /\ WF_vars(Healing)
    /\ \A f \in Brokers : WF_vars(IsServed(f)) /\ WF_vars(FollowerAppend(f))

-----------------------------------------------------------------------------
HasBeenTold(b) == replicas[b].role \in {"leader", "follower", "fenced"}

(* No member of the ISR is dead. A member that died leaves with its session, *)
(* and one that came back too soon for the controller to notice has not been *)
(* told anything: that takes broker epochs.                                  *)
MembersWork == \A b \in Electable : HasBeenTold(b)

AllWork == \A b \in Brokers : HasBeenTold(b)

(* Whoever still leads has committed all that it has: each produce has been  *)
(* acknowledged, or was answered when its leader stopped leading. An idle    *)
(* partition and an ISR of one are no exceptions.                            *)
\* @req REPL-009
EventuallyAckedOrFailed ==
    <>[]MembersWork =>
        <>[](\A b \in Brokers : IsLeading(b) => logs[b].high_watermark = EndOffset(b))

(* All brokers are in the ISR again, as long as leaders may still change it. *)
\* @req FAIL-008
\* @req REPL-009
EventuallyIsrFull ==
    <>[](AllWork /\ budget["isr_changes"] > 0) => <>[](Electable = Brokers)

(* A follower gets its answer and may fetch. *)
\* @req CMD-004
EventuallyTruncated ==
    <>[]AllWork => <>[](\A b \in Brokers : replicas[b].role = "follower" => logs[b].is_truncated)

(* All logs are the same, and all of it is known to be committed.            *)
\* @req REPL-009
EventuallyConverged ==
    <>[]AllWork =>
        <>[](\A b, other \in Brokers :
                /\ Records(b) = Records(other)
                /\ logs[b].high_watermark = EndOffset(other))
=============================================================================
