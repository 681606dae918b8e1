------------------- MODULE serve_without_leadership_check -------------------
(* A broker serves whoever takes it for the leader.                          *)
EXTENDS MetadataPropagation

WrongAcknowledges(b) == IsUp(b)
=============================================================================
