--------------------------- MODULE forward_again ----------------------------
(* What a broker has passed on is passed on again.                           *)
EXTENDS Forwarding

WrongIsForwarded(m) == TRUE
=============================================================================
