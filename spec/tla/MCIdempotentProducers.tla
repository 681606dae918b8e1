----------------------- MODULE MCIdempotentProducers ------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS IdempotentProducers

CONSTANTS MaxValues, MaxElections, MaxEpochs

Bounds == [values |-> MaxValues, elections |-> MaxElections, epochs |-> MaxEpochs]
=============================================================================
