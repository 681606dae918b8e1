------------------------- MODULE any_first_sequence -------------------------
(* A leader takes any first sequence of a producer that it does not know.    *)
EXTENDS IdempotentProducers

WrongComesNext(m) ==
    \/ Seen = {}
    \/ m.producer_epoch > Last.producer_epoch /\ m.sequence = 0
    \/ m.producer_epoch = Last.producer_epoch /\ m.sequence = Last.sequence + 1
=============================================================================
