------------------- MODULE accept_older_controller_epoch --------------------
(* A broker obeys a command of any controller epoch.                         *)
EXTENDS LeaderAndIsr

WrongIsOlderController(b, m) == FALSE
=============================================================================
