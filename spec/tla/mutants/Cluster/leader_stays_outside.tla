------------------------ MODULE leader_stays_outside ------------------------
(* The ISR switches to the new replicas, and the leader stays as it was.     *)
EXTENDS Cluster

WrongSwitchedLeaders(p, isr) == {State(p).leader}
=============================================================================
