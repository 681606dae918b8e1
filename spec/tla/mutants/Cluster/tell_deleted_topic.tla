------------------------- MODULE tell_deleted_topic -------------------------
(* What was to be told of a topic is told after that is gone.                *)
EXTENDS Cluster

WrongIsTopicKnown(c) == TRUE
=============================================================================
