----------------- MODULE forget_producers_on_leader_change ------------------
(* A leader knows only what it appended itself, and takes any first sequence *)
(* of a producer that it does not know.                                      *)
EXTENDS IdempotentProducers

WrongSeen == {i \in DOMAIN log : i > leader_start}
WrongComesNext(m) ==
    \/ WrongSeen = {}
    \/ m.producer_epoch > Last.producer_epoch /\ m.sequence = 0
    \/ m.producer_epoch = Last.producer_epoch /\ m.sequence = Last.sequence + 1
=============================================================================
