-------------------------- MODULE unbounded_batch ---------------------------
(* One multi holds all decisions of a failover, however many.                *)
EXTENDS DecisionBatch

WrongBatchSize == Cardinality(Partitions)
=============================================================================
