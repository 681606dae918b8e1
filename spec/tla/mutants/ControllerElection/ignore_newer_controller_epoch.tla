------------------- MODULE ignore_newer_controller_epoch --------------------
(* A controller that hears of a successor goes on.                           *)
EXTENDS ControllerElection

WrongIsReplaced(b, controller_epoch) == FALSE
=============================================================================
