-------------------- MODULE delete_directory_at_restart ---------------------
(* A broker that starts takes no directory over.                             *)
EXTENDS Reassignment

WrongKept == {}
=============================================================================
