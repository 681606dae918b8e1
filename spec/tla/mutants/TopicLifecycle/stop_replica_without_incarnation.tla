------------------ MODULE stop_replica_without_incarnation ------------------
(* A stop is about whatever the broker finds (V3 C).                         *)
EXTENDS TopicLifecycle

WrongStopped(incarnation) == Incarnations
=============================================================================
