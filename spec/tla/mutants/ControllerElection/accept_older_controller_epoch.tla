------------------- MODULE accept_older_controller_epoch --------------------
(* A broker obeys a command of any controller epoch.                         *)
EXTENDS ControllerElection

WrongIsOlder(b, controller_epoch) == FALSE
=============================================================================
