----------------------- MODULE accept_older_metadata ------------------------
(* A broker takes whatever metadata comes last.                              *)
EXTENDS MetadataPropagation

WrongIsNewMetadata(b, state) == TRUE
=============================================================================
