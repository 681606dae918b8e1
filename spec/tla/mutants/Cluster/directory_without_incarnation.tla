------------------- MODULE directory_without_incarnation --------------------
(* A directory is known by its name: that of the deleted topic is taken over. *)
EXTENDS Cluster

WrongIsOwnDirectory(log, m) == TRUE
=============================================================================
