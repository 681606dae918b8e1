--------------------------- MODULE request_is_kept --------------------------
(* The request stays when all is done, so that it is done again and again.   *)
EXTENDS Cluster

WrongRequestOnceDone(p) == Checked
=============================================================================
