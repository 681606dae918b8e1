-------------------------- MODULE MCControllerQueue --------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS ControllerQueue

CONSTANTS MaxCrashes

Bounds == [crashes |-> MaxCrashes]
=============================================================================
