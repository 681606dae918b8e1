------------------------ MODULE tell_absent_brokers -------------------------
(* Commands go to all that are assigned, registered or not.                *)
EXTENDS Cluster

WrongAddressed(c, p) == Topic.assigned[p]
=============================================================================
