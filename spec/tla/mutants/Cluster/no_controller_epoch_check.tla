--------------------- MODULE no_controller_epoch_check ----------------------
(* A write of a controller checks neither its epoch nor its office.          *)
EXTENDS Cluster

WrongFence(c) == <<>>
=============================================================================
