------------------------ MODULE decide_over_decision ------------------------
(* A controller decides again before what it decided is written.           *)
EXTENDS Reassignment

WrongIsFree(c) == IsActive(c) /\ ~IsDeposed(c)
=============================================================================
