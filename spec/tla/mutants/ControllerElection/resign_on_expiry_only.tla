----------------------- MODULE resign_on_expiry_only ------------------------
(* A controller resigns when it has lost its session, and never else.        *)
EXTENDS ControllerElection

WrongMustResign(b) == IsActive(b) /\ ~IsConnected(b)
=============================================================================
