---------------------- MODULE recompute_high_watermark ----------------------
(* The high watermark is what the members have reached now, where one that   *)
(* has not fetched has reached nothing.                                      *)
EXTENDS Replication

WrongReachedBy(l, f) == IF f = l THEN EndOffset(l) ELSE Max({logs[l].end_offsets[f], 0})
WrongMayAdvanceTo(l, high_watermark) == high_watermark # logs[l].high_watermark
=============================================================================
