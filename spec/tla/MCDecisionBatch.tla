-------------------------- MODULE MCDecisionBatch ---------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS DecisionBatch

CONSTANTS MaxCrashes, MaxLostReplies, MaxLostRequests

Bounds ==
    [crashes |-> MaxCrashes, lost_replies |-> MaxLostReplies, lost_requests |-> MaxLostRequests]
=============================================================================
