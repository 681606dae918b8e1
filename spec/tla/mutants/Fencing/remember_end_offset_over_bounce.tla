------------------ MODULE remember_end_offset_over_bounce -------------------
(* The leader knows replicas by id, and remembers how far they were.         *)
EXTENDS Fencing

WrongCaughtUpAtFirst(b) == replicas[b].caught_up
WrongKnowsByIdOnly == TRUE
WrongMayJoin(member) == member.broker_epoch = Registrations[member.broker]
WrongCaughtUpAfter(l, f) == {seen \in replicas[l].caught_up : seen.broker # f}
=============================================================================
