------------------------ MODULE read_overtakes_write ------------------------
(* A session may read before what it wrote has arrived.                      *)
EXTENDS Zk

WrongIsInOrder(c) == TRUE
=============================================================================
