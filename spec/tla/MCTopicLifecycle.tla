-------------------------- MODULE MCTopicLifecycle --------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS TopicLifecycleSteps

CONSTANTS MaxTopics, MaxRecords, MaxReassignments, MaxIsrChanges,
    MaxCrashes, MaxControllerCrashes, MaxControllerExpiries

Bounds ==
    [topics |-> MaxTopics, records |-> MaxRecords, reassignments |-> MaxReassignments,
     isr_changes |-> MaxIsrChanges, crashes |-> MaxCrashes,
     controller_crashes |-> MaxControllerCrashes, controller_expiries |-> MaxControllerExpiries]
=============================================================================
