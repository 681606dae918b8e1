-------------------------- MODULE expand_laggards ---------------------------
(* A replica joins that holds no more than the slowest member of the ISR.    *)
EXTENDS Replication

SmallestInIsr(l) == Min({ReachedBy(l, f) : f \in replicas[l].isr})

WrongHasReachedHighWatermark(l, f) ==
    LET reached == logs[l].end_offsets[f]
    IN reached # Unknown /\ reached <= SmallestInIsr(l)
=============================================================================
