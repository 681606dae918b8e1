--------------------- MODULE accept_older_leader_epoch ----------------------
(* A broker obeys a command of any leader epoch.                             *)
EXTENDS LeaderAndIsr

WrongIsNewer(b, m) == TRUE
=============================================================================
