----------------------------- MODULE MCZkWatches ----------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS ZkWatchesSteps

CONSTANTS MaxChanges, MaxSyncs, MaxSuspensions

Bounds == [changes |-> MaxChanges, syncs |-> MaxSyncs, suspensions |-> MaxSuspensions]
=============================================================================
