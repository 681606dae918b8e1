-------------------- MODULE accept_older_producer_epoch ---------------------
(* The sequence alone tells whether a record comes next.                     *)
EXTENDS IdempotentProducers

WrongComesNext(m) ==
    \/ m.producer_epoch > Last.producer_epoch /\ m.sequence = 0
    \/ m.producer_epoch <= Last.producer_epoch /\ m.sequence = Last.sequence + 1
=============================================================================
