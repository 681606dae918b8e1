--------------------- MODULE trust_batch_without_answer ---------------------
(* Whatever was not answered counts as written.                              *)
EXTENDS DecisionBatch

WrongFoundDone(S) == S
=============================================================================
