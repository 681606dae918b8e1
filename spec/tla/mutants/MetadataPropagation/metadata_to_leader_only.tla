---------------------- MODULE metadata_to_leader_only -----------------------
(* Metadata goes to the leader alone.                                        *)
EXTENDS MetadataPropagation

WrongIsToldMetadata(b) == IsUp(b) /\ b = State.leader
=============================================================================
