------------------- MODULE commands_without_broker_epoch --------------------
(* A command does not say for which incarnation of the broker it was built.  *)
EXTENDS Cluster

WrongIsForThisIncarnation(b, m) == TRUE
=============================================================================
