------------------------- MODULE tell_partial_batch -------------------------
(* The controller believes what ZooKeeper says of the operations before the  *)
(* one that failed.                                                          *)
EXTENDS Cluster

IsBefore(write, decision) ==
    \A other \in decision.states :
        other.partition <= write.partition => IsAccepted(znodes, StateOp(other))

WrongToldOfRefused(decision) ==
    {Written(write) : write \in {write \in decision.states : IsBefore(write, decision)}}
=============================================================================
