------------------------- MODULE send_metadata_once -------------------------
(* The controller has sent metadata, and that is that.                       *)
EXTENDS MetadataPropagation

WrongSentOnceLost(m) == IF m.kind = "UpdateMetadata" THEN sent ELSE sent \ {m}
=============================================================================
