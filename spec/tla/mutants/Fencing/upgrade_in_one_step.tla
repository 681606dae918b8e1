------------------------ MODULE upgrade_in_one_step -------------------------
(* The protocol is raised before every broker has the code.                  *)
EXTENDS Fencing

WrongHasNewCode == \E b \in Brokers : replicas[b].level = 4
=============================================================================
