----------------------- MODULE append_from_old_leader -----------------------
(* The fetcher goes on over a change of role, and takes any answer.          *)
EXTENDS Cluster

WrongAnswersAfterRoleChange(b, p) == fetches
WrongIsAwaited(f, answer) == TRUE
=============================================================================
