---------------------- MODULE send_unwritten_decisions ----------------------
(* A decision is told although its write was refused.                        *)
EXTENDS LeaderAndIsr

WrongMayTell(written) == TRUE
=============================================================================
