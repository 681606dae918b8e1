------------------------ MODULE forget_deleted_topic ------------------------
(* A topic that was made again is only another one.                        *)
EXTENDS Cluster

WrongGoneTopics(c) == {}
=============================================================================
