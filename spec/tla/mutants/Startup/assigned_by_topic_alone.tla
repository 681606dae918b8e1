---------------------- MODULE assigned_by_topic_alone -----------------------
(* A partition that only a pending reassignment gives to the broker is not   *)
(* its own.                                                                  *)
EXTENDS Startup

WrongIsOwn(tree, p) ==
    IsNamedByTopic(tree, p) /\ StateIn(tree, p).incarnation = broker.logs[p]
=============================================================================
