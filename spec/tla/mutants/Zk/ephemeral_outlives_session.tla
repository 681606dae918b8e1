--------------------- MODULE ephemeral_outlives_session ---------------------
(* The ephemerals of a session stay when it ends.                            *)
EXTENDS Zk

WrongWithout(session_id) == znodes
=============================================================================
