--------------------------- MODULE truncate_once ----------------------------
(* A follower cuts at the first answer, whatever epoch that is of (KIP-101). *)
EXTENDS Replication

WrongTruncationOffset(follower_log, leader_log) == Len(Cut(follower_log, leader_log).log)
=============================================================================
