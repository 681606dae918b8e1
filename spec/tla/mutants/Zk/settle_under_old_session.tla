---------------------- MODULE settle_under_old_session ----------------------
(* What is not there is taken for lost, while the session under which it was *)
(* asked for lives.                                                          *)
EXTENDS Zk

WrongIsTooLate(c, r) == TRUE
=============================================================================
