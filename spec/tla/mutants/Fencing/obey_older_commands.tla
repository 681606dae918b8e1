------------------------ MODULE obey_older_commands -------------------------
(* A broker obeys whatever was built for it.                               *)
EXTENDS Fencing

WrongIsNewer(b, m) == TRUE
=============================================================================
