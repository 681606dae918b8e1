---------------------- MODULE commit_before_replication ---------------------
(* The leader takes for granted that all members have what it has.           *)
EXTENDS Fencing

WrongHasReached(l, member) == TRUE
=============================================================================
