-------------------------- MODULE tell_leader_only --------------------------
(* The leader alone is told, and followers are to hear from it.              *)
EXTENDS Cluster

WrongAddressed(c, p) == {b \in Topic.assigned[p] : b = State(p).leader}
=============================================================================
