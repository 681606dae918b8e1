---------------------- MODULE delete_before_assignment ----------------------
(* The old replicas are stopped as soon as the new ones have caught up, while *)
(* they are still assigned.                                                  *)
EXTENDS Cluster

WrongRemoved(p) ==
    IF ~HasTopic \/ ~HasState(p) THEN {}
    ELSE IF Target(p) \subseteq MemberIds(State(p).isr)
         THEN Topic.removing[p] \cup (Topic.assigned[p] \ Target(p))
         ELSE Topic.removing[p]
=============================================================================
