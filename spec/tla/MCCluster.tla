----------------------------- MODULE MCCluster ------------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS ClusterPace, ClusterSteps, ClusterDecisions

CONSTANTS MaxRecords, MaxElections, MaxIsrChanges, MaxCrashes, MaxLostRecords, MaxExpiries,
    MaxControllerExpiries, MaxLostReplies, MaxTopics, MaxRequests, MaxCancellations

Bounds ==
    [records |-> MaxRecords, elections |-> MaxElections, isr_changes |-> MaxIsrChanges,
     crashes |-> MaxCrashes, lost_records |-> MaxLostRecords, expiries |-> MaxExpiries,
     controller_expiries |-> MaxControllerExpiries, lost_replies |-> MaxLostReplies,
     topics |-> MaxTopics, deletions |-> MaxTopics, requests |-> MaxRequests,
     cancellations |-> MaxCancellations]
=============================================================================
