--------------------- MODULE stop_replica_without_epoch ---------------------
(* A stop carries no epoch, and is obeyed whenever it comes (V3).            *)
EXTENDS Reassignment

WrongIsRemovedBy(b, m) == TRUE
=============================================================================
