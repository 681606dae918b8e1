-------------------------- MODULE forget_arrivals ---------------------------
(* A broker that is back is told nothing.                                  *)
EXTENDS Fencing

WrongArrived(differing, look) == {}
=============================================================================
