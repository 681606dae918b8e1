----------------------- MODULE started_before_failed ------------------------
(* An arrival is told the state before its failure is decided.               *)
EXTENDS Fencing

WrongIsAllDecided == TRUE
=============================================================================
