-------------------------- MODULE remember_shutdown -------------------------
(* A broker that is back is still taken for one that is shutting down.      *)
EXTENDS ControlledShutdown

WrongSeenToChange == {}
=============================================================================
