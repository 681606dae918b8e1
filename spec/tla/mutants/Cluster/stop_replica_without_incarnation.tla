------------------ MODULE stop_replica_without_incarnation ------------------
(* A stop names the partition alone: it deletes what it finds.               *)
EXTENDS Cluster

WrongIsStopped(r, m) == TRUE
=============================================================================
