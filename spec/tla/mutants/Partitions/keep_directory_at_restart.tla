--------------------- MODULE keep_directory_at_restart ----------------------
(* A broker that starts keeps what it has.                                 *)
EXTENDS Partitions

WrongIsLeftOver(b) == FALSE
=============================================================================
