-------------------------- MODULE lead_by_metadata --------------------------
(* A broker leads as soon as its metadata says so.                           *)
EXTENDS MetadataPropagation

WrongIsLeading(b) == IsUp(b) /\ brokers[b].metadata.leader = b
WrongIsFollowedByAll(b) == \A other \in Brokers : IsUp(other)
=============================================================================
