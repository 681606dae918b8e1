----------------------- MODULE no_metadata_at_arrival -----------------------
(* An arrival is sent its roles, and no metadata.                            *)
EXTENDS MetadataPropagation

WrongSentOnceArrived(b) == {m \in sent : m.to # b \/ m.kind = "UpdateMetadata"}
=============================================================================
