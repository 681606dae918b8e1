----------------- MODULE trust_version_across_incarnations ------------------
(* A write trusts the version of the znode, which starts again with the topic. *)
EXTENDS Cluster

WrongIdCheck(incarnation) == <<>>
=============================================================================
