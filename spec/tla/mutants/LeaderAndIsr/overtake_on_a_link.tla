------------------------ MODULE overtake_on_a_link --------------------------
(* What was sent before on the same link may still come.                     *)
EXTENDS LeaderAndIsr

WrongReceived(in_flight, m) == in_flight \ {m}
=============================================================================
