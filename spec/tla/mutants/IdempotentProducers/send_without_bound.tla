------------------------- MODULE send_without_bound -------------------------
(* A producer sends on, whatever is in flight.                             *)
EXTENDS IdempotentProducers

WrongIsInReach == TRUE
=============================================================================
