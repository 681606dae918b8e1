------------------------ MODULE read_without_session ------------------------
(* A client that has no session settles by what it has read before.        *)
EXTENDS Zk

WrongMaySettle(c) == IsUnsure(c) /\ IsInOrder(c)
=============================================================================
