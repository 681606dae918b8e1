------------------------ MODULE commit_with_old_isr -------------------------
(* A commit waits for the ISR as it was before the change in flight.         *)
EXTENDS Cluster

WrongMaximalIsr(l, p) == replicas[l][p].isr
=============================================================================
