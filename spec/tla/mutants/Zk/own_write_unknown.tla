------------------------- MODULE own_write_unknown --------------------------
(* A client does not know its own content.                                   *)
EXTENDS Zk

WrongIsOwn(r, znode) == FALSE
=============================================================================
