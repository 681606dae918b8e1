-------------------------- MODULE charge_per_topic --------------------------
(* A topic takes one token, whatever its partitions.                         *)
EXTENDS ControllerQueue

WrongCharge(partitions) == 1
=============================================================================
