------------------------ MODULE read_overtakes_watch ------------------------
(* A read returns before the notifications about what it returns.            *)
EXTENDS ZkWatches

WrongMayReturn == TRUE
=============================================================================
