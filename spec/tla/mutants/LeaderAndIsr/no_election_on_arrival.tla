----------------------- MODULE no_election_on_arrival -----------------------
(* A partition that waits for a leader is not decided upon when a member of  *)
(* its ISR comes back.                                                       *)
EXTENDS LeaderAndIsr

WrongNeedsDecision(live) ==
    Exists(znodes, StatePath) /\ IsAffected(live) /\ State.leader # NoBroker
=============================================================================
