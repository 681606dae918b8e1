------------------------ MODULE retry_without_answer ------------------------
(* A client that hears nothing asks again by itself.                         *)
EXTENDS Forwarding

WrongMaySend(r) == answers[r] \in {"none", "again", "unknown"}
=============================================================================
