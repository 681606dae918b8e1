------------------------- MODULE tell_partial_batch -------------------------
(* The controller believes what ZooKeeper says of the operations before the  *)
(* one that failed.                                                          *)
EXTENDS DecisionBatch

WrongTold(batch) == {p \in batch : \A other \in batch \cap stale : p < other}
=============================================================================
