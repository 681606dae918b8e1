--------------------- MODULE go_back_from_new_protocol ---------------------
(* A broker goes back to the old code while others have the new protocol.   *)
EXTENDS Forwarding

WrongMayGoBack == TRUE
=============================================================================
