------------------ MODULE metadata_of_a_deposed_controller ------------------
(* The controller epoch of metadata is not compared with the one that the    *)
(* broker knows.                                                             *)
EXTENDS MetadataBodies

WrongIsOfDeposed(b, m) == FALSE
=============================================================================
