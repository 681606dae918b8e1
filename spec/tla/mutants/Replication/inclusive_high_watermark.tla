---------------------- MODULE inclusive_high_watermark ----------------------
(* The high watermark is the offset of the last committed record (V3).       *)
EXTENDS Replication

WrongCovered(high_watermark) == high_watermark + 1
=============================================================================
