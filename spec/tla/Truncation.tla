----------------------------- MODULE Truncation -----------------------------
(* A follower finds out where its log parts from its leader's (KIP-101,      *)
(* KIP-279), question by question. All pairs of logs that leadership can     *)
(* bring about, up to a length; `Replication` takes the dialogue as one step.*)
EXTENDS ReplicaLog

CONSTANTS
    MaxLength,      \* of either log
    Epochs,         \* leader epochs, numbers
    truncation      \* as in `Replication`: "high_watermark" or "leader_epoch"

VARIABLES
    original,       \* the follower's log before it asks
    follower,       \* the follower's log
    leader,         \* the leader's log, which does not change meanwhile
    is_truncated    \* the follower may fetch

vars == <<original, follower, leader, is_truncated>>

ASSUME truncation \in {"high_watermark", "leader_epoch"}

EpochSequences == UNION {[1 .. length -> Epochs] : length \in 0 .. MaxLength}

IsOrdered(epochs) == \A i, j \in DOMAIN epochs : i < j => epochs[i] <= epochs[j]

(* A record is told by its epoch and offset: an epoch has one leader, which  *)
(* puts one record at an offset.                                             *)
Log(epochs) == [i \in DOMAIN epochs |-> [leader_epoch |-> epochs[i], value |-> i]]
Logs == {Log(epochs) : epochs \in {sequence \in EpochSequences : IsOrdered(sequence)}}

(* A record of an epoch brings with it all that its leader had before it: so *)
(* logs that share a record share everything below it, and an epoch that is  *)
(* in both starts at one offset.                                             *)
MayMeet(log, other) ==
    \A epoch \in EpochsIn(log) \cap EpochsIn(other) :
        LET end == Min({EndOffsetForEpoch(log, epoch).end_offset,
                       EndOffsetForEpoch(other, epoch).end_offset})
        IN CommonPrefix(log, other) >= end

Init ==
    /\ follower \in Logs
    /\ leader \in Logs
    /\ MayMeet(follower, leader)
    /\ original = follower
    /\ is_truncated = FALSE

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ {original, follower, leader} \subseteq Logs
    /\ is_truncated \in BOOLEAN

-----------------------------------------------------------------------------
(* What is left of the follower's log, and whether there is more to ask.     *)
LogAfterAnswer == Cut(follower, leader).log
IsSettled == follower = <<>> \/ Cut(follower, leader).is_settled

(* One question and one answer.                                              *)
AskLeader ==
    /\ follower' = LogAfterAnswer
    /\ is_truncated' = IsSettled

(* V3 asks no broker. The follower's high watermark is any offset up to what *)
(* the two logs share: it may lag behind, never run ahead.                   *)
CutAtHighWatermark ==
    /\ \E high_watermark \in 0 .. CommonPrefix(follower, leader) :
          follower' = Truncated(follower, high_watermark)
    /\ is_truncated' = TRUE

(* The follower's log gets shorter until it may fetch.                       *)
TruncateLog ==
    /\ ~is_truncated
    /\ IF truncation = "high_watermark" THEN CutAtHighWatermark ELSE AskLeader
    /\ UNCHANGED <<original, leader>>

Next ==
    \/ TruncateLog

-----------------------------------------------------------------------------
(* A follower that fetches has nothing that its leader has not.              *)
\* @req CMD-005
TruncatedLogAgrees == is_truncated => CommonPrefix(follower, leader) = Len(follower)

(* Truncation takes nothing from the follower that its leader has too.       *)
\* @req CMD-005
KeepsCommonPrefix == Len(follower) >= CommonPrefix(original, leader)

(* The dialogue ends: each question is about an earlier epoch than the last. *)
\* @req CMD-005
QuestionsEnd ==
    [][is_truncated' \/ LatestEpoch(follower') < LatestEpoch(follower)]_vars

(* Nothing but the end of the follower's log goes, and nothing once it may   *)
(* fetch. It may not before the answer has told that its last record, if it  *)
(* has one, is of an epoch of which the leader has records.                  *)
\* @req CMD-005
LogsAreCut ==
    [][/\ ~is_truncated
       /\ Len(follower') <= Len(follower)
       /\ follower' = SubSeq(follower, 1, Len(follower'))
       /\ is_truncated' => follower' = <<>> \/ LatestEpoch(follower') \in EpochsIn(leader)
       /\ UNCHANGED <<original, leader>>]_vars
-----------------------------------------------------------------------------
(* What must be possible *)

(* One answer did not settle it.                                             *)
AsksAgain == ~is_truncated /\ follower # original

(* Everything has to go, or nothing.                                         *)
AllIsCut == is_truncated /\ original # <<>> /\ follower = <<>>
NothingIsCut == is_truncated /\ original # <<>> /\ follower = original

(* Something in between.                                                     *)
EndIsCut == is_truncated /\ follower \notin {<<>>, original}
=============================================================================
