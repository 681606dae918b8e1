----------------------- MODULE append_from_old_leader -----------------------
(* What the old leader has answered is appended after the change of role.    *)
EXTENDS Replication

WrongAnswersAfterRoleChange(b) == fetches
WrongIsAwaited(f, answer) == TRUE
=============================================================================
