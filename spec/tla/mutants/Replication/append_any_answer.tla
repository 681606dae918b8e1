------------------------- MODULE append_any_answer --------------------------
(* A follower appends an answer of whichever leader.                         *)
EXTENDS Replication

WrongIsAwaited(f, answer) == TRUE
=============================================================================
