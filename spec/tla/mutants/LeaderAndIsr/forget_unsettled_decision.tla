--------------------- MODULE forget_unsettled_decision ----------------------
(* A decision of which the reply was lost is forgotten, also when it was     *)
(* applied.                                                                  *)
EXTENDS LeaderAndIsr

WrongSettledDecision(c) == ForgetDecision(c)
=============================================================================
