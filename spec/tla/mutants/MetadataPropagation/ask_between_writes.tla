------------------------- MODULE ask_between_writes -------------------------
(* A client asks for metadata whenever it likes.                           *)
EXTENDS MetadataPropagation

WrongIsToAsk == TRUE
=============================================================================
