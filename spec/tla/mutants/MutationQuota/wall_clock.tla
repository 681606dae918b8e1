----------------------------- MODULE wall_clock -----------------------------
(* Buckets are filled by the wall clock.                                     *)
EXTENDS MutationQuota

WrongClock == now + clock_offset
=============================================================================
