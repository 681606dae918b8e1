------------------------ MODULE forward_new_version -------------------------
(* A broker passes the new version on as well.                               *)
EXTENDS Forwarding

WrongIsForwardable(m) == TRUE
=============================================================================
