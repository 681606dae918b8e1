----------------------- MODULE trust_unsettled_write ------------------------
(* A write of which nothing was heard counts as done.                        *)
EXTENDS Zk

WrongIsOwn(r, znode) == TRUE
=============================================================================
