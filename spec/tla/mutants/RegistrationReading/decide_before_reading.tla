----------------------- MODULE decide_before_reading ------------------------
(* A controller that starts takes all brokers for gone until it has read.    *)
EXTENDS RegistrationReading

WrongKnowsBrokers == TRUE
=============================================================================
