------------------------ MODULE unconditional_writes ------------------------
(* A write takes effect whatever the version of its znode.                   *)
EXTENDS Zk

WrongAsked(op) ==
    IF op.op \in {"set_data", "delete"} THEN [op EXCEPT !.version = AnyVersion] ELSE op
=============================================================================
