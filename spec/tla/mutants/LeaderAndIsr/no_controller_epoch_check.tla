--------------------- MODULE no_controller_epoch_check ----------------------
(* A controller's write does not check the epoch.                            *)
EXTENDS LeaderAndIsr

WrongEpochCheck(c) == <<>>
=============================================================================
