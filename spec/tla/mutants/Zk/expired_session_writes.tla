----------------------- MODULE expired_session_writes -----------------------
(* A write takes effect under a session that is over.                        *)
EXTENDS Zk

WrongIsPermitted(c) == TRUE
=============================================================================
