--------------------- MODULE deposed_controller_writes ----------------------
(* A controller writes without a check of its epoch.                         *)
EXTENDS Forwarding

WrongIsFenced(write) == FALSE
=============================================================================
