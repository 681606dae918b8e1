---------------------- MODULE expand_overwrites_shrink ----------------------
(* A leader computes each change from the ISR alone, and the last one wins.  *)
EXTENDS LeaderAndIsr

WrongMayAsk(b) == TRUE
=============================================================================
