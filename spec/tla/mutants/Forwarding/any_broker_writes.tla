------------------------- MODULE any_broker_writes --------------------------
(* Every broker writes what it is asked, under the new protocol too.         *)
EXTENDS Forwarding

WrongForwards(b) == FALSE
WrongMayWrite(b) == TRUE
=============================================================================
