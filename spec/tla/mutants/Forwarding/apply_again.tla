---------------------------- MODULE apply_again -----------------------------
(* A controller applies what the znode has already.                          *)
EXTENDS Forwarding

WrongIsPresent(write) == FALSE
=============================================================================
