---------------------- MODULE watch_lost_on_reconnect -----------------------
(* A watch does not move with its session.                                   *)
EXTENDS ZkWatches

WrongStaysWatching == FALSE
=============================================================================
