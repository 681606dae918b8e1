----------------------- MODULE leader_ignores_command -----------------------
(* A leader ignores the commands that name it.                               *)
EXTENDS LeaderAndIsr

WrongIsHeard(b, m) ==
    /\ m.to = b
    /\ replicas[b].role \notin {"down", "starting"}
    /\ ~(m.leader = b /\ replicas[b].role \in {"leader", "fenced"})
=============================================================================
