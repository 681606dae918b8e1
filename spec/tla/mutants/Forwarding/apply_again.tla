---------------------------- MODULE apply_again -----------------------------
(* What is there already is created again.                                   *)
EXTENDS Forwarding

WrongIsPresent(write) == FALSE
=============================================================================
