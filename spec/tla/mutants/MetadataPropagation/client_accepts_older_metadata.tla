------------------- MODULE client_accepts_older_metadata --------------------
(* A client believes the broker that it asked last.                          *)
EXTENDS MetadataPropagation

WrongIsNewToClient(metadata) == TRUE
=============================================================================
