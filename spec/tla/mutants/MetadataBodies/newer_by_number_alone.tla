----------------------- MODULE newer_by_number_alone ------------------------
(* The numbers of two controllers' bodies are compared.                      *)
EXTENDS MetadataBodies

WrongIsNewer(m, taken) == m.metadata_version > taken.metadata_version
=============================================================================
