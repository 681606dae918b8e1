---------------------- MODULE expand_below_epoch_start ----------------------
(* A replica joins at the high watermark, which a new leader may not have    *)
(* learnt yet.                                                               *)
EXTENDS Replication

WrongHasReachedEpochStart(l, f) == TRUE
=============================================================================
