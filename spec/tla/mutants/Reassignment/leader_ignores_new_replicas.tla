-------------------- MODULE leader_ignores_new_replicas ---------------------
(* The leader does not know the new replicas: its command carries no         *)
(* assignment (V3).                                                          *)
EXTENDS Reassignment

WrongAdmitted == FirstAssigned
=============================================================================
