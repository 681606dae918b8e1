---------------------- MODULE retry_keeps_live_brokers ----------------------
(* After a conflict the controller goes on with the live brokers that it     *)
(* has: the watch that fired meanwhile is used up and is not set again.      *)
EXTENDS LeaderAndIsr

WrongIsWatchSet(live) == live = Registered
=============================================================================
