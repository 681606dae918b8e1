---------------------------- MODULE MCPartitions ----------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS PartitionsSteps

CONSTANTS MaxRequests, MaxRecords, MaxIsrChanges, MaxCrashes,
    MaxControllerCrashes, MaxControllerExpiries

Bounds ==
    [requests |-> MaxRequests, records |-> MaxRecords, isr_changes |-> MaxIsrChanges,
     crashes |-> MaxCrashes, controller_crashes |-> MaxControllerCrashes,
     controller_expiries |-> MaxControllerExpiries]
=============================================================================
