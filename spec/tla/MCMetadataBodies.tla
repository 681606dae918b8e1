-------------------------- MODULE MCMetadataBodies --------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS MetadataBodies

CONSTANTS MaxFailovers, MaxChanges, MaxLosses, MaxCrashes

Bounds ==
    [failovers |-> MaxFailovers, changes |-> MaxChanges, losses |-> MaxLosses,
     crashes |-> MaxCrashes]
=============================================================================
