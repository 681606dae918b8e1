-------------------- MODULE reconnect_to_lagging_server ---------------------
(* A session moves to a server that is behind what its client has seen.      *)
EXTENDS ZkWatches

WrongMayServe(version) == TRUE
=============================================================================
