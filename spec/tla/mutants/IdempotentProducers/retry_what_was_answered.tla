---------------------- MODULE retry_what_was_answered -----------------------
(* A record stays in flight when it is acknowledged.                       *)
EXTENDS IdempotentProducers

WrongUnanswered(m) == producer.in_flight
=============================================================================
