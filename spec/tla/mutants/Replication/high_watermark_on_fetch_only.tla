-------------------- MODULE high_watermark_on_fetch_only --------------------
(* The high watermark moves when a fetch is answered (V3).                   *)
EXTENDS Replication

WrongMayAdvanceTo(l, high_watermark) ==
    /\ high_watermark > logs[l].high_watermark
    /\ \E answer \in fetches : answer.from = l /\ answer.copy = 1
=============================================================================
