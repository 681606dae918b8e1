------------------- MODULE acknowledge_under_a_small_isr --------------------
(* What was taken is acknowledged, however small the ISR has become.         *)
EXTENDS Replication

WrongMayAcknowledge(l) == TRUE
=============================================================================
