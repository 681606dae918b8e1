------------------- MODULE commands_without_broker_epoch --------------------
(* A command names a broker by its id.                                       *)
EXTENDS Fencing

WrongIsForThisIncarnation(b, m) == TRUE
=============================================================================
