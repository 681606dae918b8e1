-------------------- MODULE delete_what_assignment_omits --------------------
(* A broker that starts keeps what the old assignment gives it, and nothing  *)
(* else (V3).                                                                *)
EXTENDS Reassignment

WrongKept == Settled
=============================================================================
