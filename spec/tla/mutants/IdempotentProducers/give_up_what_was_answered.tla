--------------------- MODULE give_up_what_was_answered ----------------------
(* A producer begins another epoch though nothing is in flight.            *)
EXTENDS IdempotentProducers

WrongIsUnanswered == TRUE
=============================================================================
