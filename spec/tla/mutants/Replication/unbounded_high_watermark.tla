---------------------- MODULE unbounded_high_watermark ----------------------
(* A follower takes its leader's high watermark as it is.                    *)
EXTENDS Replication

WrongLearntHighWatermark(answer, end_offset) == answer.high_watermark
=============================================================================
