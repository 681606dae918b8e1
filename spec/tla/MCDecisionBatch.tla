-------------------------- MODULE MCDecisionBatch ---------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS DecisionBatch

CONSTANTS MaxCrashes

Bounds == [crashes |-> MaxCrashes]
=============================================================================
