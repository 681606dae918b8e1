--------------------------- MODULE multi_in_parts ---------------------------
(* A multi keeps the part that would have gone well alone.                   *)
EXTENDS Zk

WrongTransaction(ops) ==
    [ok |-> Multi(znodes, ops, zxid + 1).ok,
     tree |-> Multi(znodes, <<ops[Len(ops)]>>, zxid + 1).tree]
=============================================================================
