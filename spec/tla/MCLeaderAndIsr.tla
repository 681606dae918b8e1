--------------------------- MODULE MCLeaderAndIsr ---------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS LeaderAndIsrDecisions

CONSTANTS MaxElections, MaxIsrChanges, MaxCrashes, MaxExpiries,
    MaxControllerExpiries, MaxLosses, MaxDuplicates, MaxLostReplies, MaxLostRequests

Bounds ==
    [elections |-> MaxElections, isr_changes |-> MaxIsrChanges, crashes |-> MaxCrashes,
     expiries |-> MaxExpiries, controller_expiries |-> MaxControllerExpiries,
     losses |-> MaxLosses, duplicates |-> MaxDuplicates, lost_replies |-> MaxLostReplies,
     lost_requests |-> MaxLostRequests]
=============================================================================
