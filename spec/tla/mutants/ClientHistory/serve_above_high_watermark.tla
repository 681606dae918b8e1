--------------------- MODULE serve_above_high_watermark ---------------------
(* Consumers read all that the leader has.                                   *)
EXTENDS ClientHistory

WrongVisible(b) == EndOffset(b)
=============================================================================
