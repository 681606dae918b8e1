---------------------- MODULE forget_controller_epoch -----------------------
(* A broker compares the epoch of a command with the one that it knows, and  *)
(* does not remember it.                                                     *)
EXTENDS ControllerElection

WrongAfterObeying(b, controller_epoch) == candidates
=============================================================================
