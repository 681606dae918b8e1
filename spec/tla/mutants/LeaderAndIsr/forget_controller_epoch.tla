---------------------- MODULE forget_controller_epoch -----------------------
(* A broker compares the epoch of a command with the one that it knows, and  *)
(* does not remember it.                                                     *)
EXTENDS LeaderAndIsr

WrongControllerEpochAfter(b, m) == replicas[b].controller_epoch
=============================================================================
