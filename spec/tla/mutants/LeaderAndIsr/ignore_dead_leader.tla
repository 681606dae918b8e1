------------------------- MODULE ignore_dead_leader -------------------------
(* A controller decides about members that are gone, and never about their   *)
(* leader.                                                                   *)
EXTENDS LeaderAndIsr

WrongIsAffected(live) == State.leader \in live /\ ~(State.isr \subseteq live)
=============================================================================
