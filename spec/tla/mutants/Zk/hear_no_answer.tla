--------------------------- MODULE hear_no_answer ---------------------------
(* A client waits on when its request is answered.                         *)
EXTENDS Zk

WrongIsAwaited(r) == FALSE
=============================================================================
