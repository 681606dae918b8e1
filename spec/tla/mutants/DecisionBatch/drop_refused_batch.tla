------------------------- MODULE drop_refused_batch -------------------------
(* A multi that was refused is read anew as a whole, when all else is      *)
(* written.                                                                *)
EXTENDS DecisionBatch

WrongAfterFailure(batch) == Tail(batches)
=============================================================================
