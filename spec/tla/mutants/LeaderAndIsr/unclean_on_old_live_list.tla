---------------------- MODULE unclean_on_old_live_list ----------------------
(* An election outside the ISR trusts the live brokers of an earlier read.   *)
EXTENDS LeaderAndIsr

WrongReadOnceMore(live) == live
=============================================================================
