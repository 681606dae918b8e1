------------------- MODULE metadata_for_an_earlier_start --------------------
(* Metadata name no broker epoch.                                            *)
EXTENDS MetadataBodies

WrongIsForEarlierStart(b, m) == FALSE
=============================================================================
