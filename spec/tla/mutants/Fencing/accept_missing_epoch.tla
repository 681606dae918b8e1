------------------------ MODULE accept_missing_epoch ------------------------
(* A command without an epoch is for any incarnation.                        *)
EXTENDS Fencing

WrongIsForThisIncarnation(b, m) ==
    \/ replicas[b].level = 2
    \/ ~IsUnderstood(b, m)
    \/ StampFor(b, m) >= replicas[b].broker_epoch
WrongHasNewCode == \E b \in Brokers : replicas[b].level = 4
=============================================================================
