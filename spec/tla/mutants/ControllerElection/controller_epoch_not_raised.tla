-------------------- MODULE controller_epoch_not_raised ---------------------
(* A controller goes on under its predecessor's epoch.                       *)
EXTENDS ControllerElection

WrongRaisedEpoch == CurrentEpoch
=============================================================================
