------------------------ MODULE wait_for_newer_read -------------------------
(* A broker waits for an answer that is newer than all that ZooKeeper holds. *)
EXTENDS Startup

WrongIsRecent(i) == i > Len(trees)
=============================================================================
