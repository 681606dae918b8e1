--------------------- MODULE no_controller_epoch_check ----------------------
(* A deposed controller writes on.                                           *)
EXTENDS Reassignment

WrongFence(c) == <<>>
=============================================================================
