---------------------- MODULE trust_content_of_another ----------------------
(* A version that was raised by one counts as the client's own write.        *)
EXTENDS Zk

WrongIsOwn(r, znode) == Write(r.ops).op # "delete" /\ znode.version = r.seen.version + 1
=============================================================================
