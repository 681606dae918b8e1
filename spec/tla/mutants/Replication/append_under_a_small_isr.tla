---------------------- MODULE append_under_a_small_isr ----------------------
(* A produce is appended under any ISR, and its producer told that it        *)
(* failed.                                                                   *)
EXTENDS Replication

WrongMayTake(l) == TRUE
=============================================================================
