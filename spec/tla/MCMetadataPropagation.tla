----------------------- MODULE MCMetadataPropagation ------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS MetadataPropagation

CONSTANTS MaxElections, MaxLosses, MaxCrashes

Bounds == [elections |-> MaxElections, losses |-> MaxLosses, crashes |-> MaxCrashes]
=============================================================================
