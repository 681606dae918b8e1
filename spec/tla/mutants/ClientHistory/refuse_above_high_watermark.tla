-------------------- MODULE refuse_above_high_watermark ---------------------
(* An offset above the high watermark is out of range.                       *)
EXTENDS ClientHistory

WrongLastValid(b) == logs[b].high_watermark
=============================================================================
