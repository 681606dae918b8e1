--------------------- MODULE refuse_larger_broker_epoch ---------------------
(* A broker refuses each epoch that is not its own.                          *)
EXTENDS Fencing

WrongIsForThisIncarnation(b, m) ==
    \/ replicas[b].level = 2
    \/ IsUnderstood(b, m) /\ StampFor(b, m) = replicas[b].broker_epoch
=============================================================================
