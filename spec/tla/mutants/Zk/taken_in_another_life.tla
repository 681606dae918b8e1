----------------------- MODULE taken_in_another_life ------------------------
(* A version counts, whichever life of the znode it is of.                   *)
EXTENDS Zk

WrongIsTaken(r, znode) == znode.version = r.seen.version + 1 /\ ~IsOwn(r, znode)
=============================================================================
