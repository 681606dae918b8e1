----------------------- MODULE take_refusal_for_write -----------------------
(* A leader takes the answer to its write for a yes.                       *)
EXTENDS Cluster

WrongIsApplicable(l, p) == HasState(p)
=============================================================================
