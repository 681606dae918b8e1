----------------------------- MODULE ReplicaLog -----------------------------
(* The log of one replica as a value: a sequence of records                  *)
(* [leader_epoch, value]. Offset n is element n + 1; the log end offset is   *)
(* the offset that the next record gets.                                     *)
EXTENDS Integers, Sequences

Min(S) == CHOOSE x \in S : \A y \in S : x <= y
Max(S) == CHOOSE x \in S : \A y \in S : x >= y

LogEndOffset(log) == Len(log)

(* Records [0, offset) stay. *)
Truncated(log, offset) == SubSeq(log, 1, Min({offset, Len(log)}))

(* At most `count` records from `offset` on. *)
Read(log, offset, count) == SubSeq(log, offset + 1, Min({offset + count, Len(log)}))

HasRecord(log, offset, record) == offset < Len(log) /\ log[offset + 1] = record

EpochsIn(log) == {log[i].leader_epoch : i \in DOMAIN log}

LatestEpoch(log) == IF log = <<>> THEN -1 ELSE log[Len(log)].leader_epoch

(* KIP-101 as corrected by KIP-279: the largest epoch of this log that is    *)
(* not above `epoch`, and the offset where the records of that epoch end.    *)
EndOffsetForEpoch(log, epoch) ==
    LET known == {e \in EpochsIn(log) : e <= epoch}
        found == IF known = {} THEN -1 ELSE Max(known)
        below == {i \in DOMAIN log : log[i].leader_epoch <= found}
    IN [leader_epoch |-> found, end_offset |-> IF below = {} THEN 0 ELSE Max(below)]

(* One question and answer: the follower asks for its latest epoch and cuts  *)
(* at the answer. It is settled when the answer is about that very epoch;    *)
(* else the log that is left may still hold records of an epoch that the     *)
(* leader has cut shorter, or never had.                                     *)
Cut(follower_log, leader_log) ==
    LET asked == LatestEpoch(follower_log)
        answer == EndOffsetForEpoch(leader_log, asked)
        mine == EndOffsetForEpoch(follower_log, answer.leader_epoch)
    IN [log |-> Truncated(follower_log, Min({answer.end_offset, mine.end_offset})),
        is_settled |-> answer.leader_epoch = asked]

(* Where a follower's log stops to agree with its leader's: it asks again    *)
(* until the answer settles it. An empty log has nothing to ask about.       *)
RECURSIVE TruncationOffset(_, _)
TruncationOffset(follower_log, leader_log) ==
    LET cut == Cut(follower_log, leader_log)
    IN IF follower_log = <<>> THEN 0
       ELSE IF cut.is_settled THEN Len(cut.log)
       ELSE TruncationOffset(cut.log, leader_log)

(* The first offset at which two logs differ. *)
CommonPrefix(log, other) ==
    Max({n \in 0 .. Min({Len(log), Len(other)}) : \A i \in 1 .. n : log[i] = other[i]})
=============================================================================
