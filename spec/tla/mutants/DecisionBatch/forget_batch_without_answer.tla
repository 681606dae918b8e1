-------------------- MODULE forget_batch_without_answer ---------------------
(* Whatever was not answered counts as refused.                              *)
EXTENDS DecisionBatch

WrongFoundDone(S) == {}
=============================================================================
