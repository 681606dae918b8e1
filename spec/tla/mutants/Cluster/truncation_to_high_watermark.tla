-------------------- MODULE truncation_to_high_watermark --------------------
(* A follower truncates to its own high watermark.                           *)
EXTENDS Cluster

WrongTruncationPoint(f, l, p) == logs[f][p].high_watermark
=============================================================================
