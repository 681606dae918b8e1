-------------------- MODULE controller_epoch_not_raised ---------------------
(* A controller goes on under its predecessor's epoch.                       *)
EXTENDS LeaderAndIsr

WrongRaisedControllerEpoch == CurrentControllerEpoch
=============================================================================
