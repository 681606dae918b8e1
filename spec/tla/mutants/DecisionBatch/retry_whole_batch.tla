------------------------- MODULE retry_whole_batch --------------------------
(* All of a refused multi is read and decided anew, and refused anew by a    *)
(* leader that never rests.                                                  *)
EXTENDS DecisionBatch

WrongRewritten(batch) == <<>>
=============================================================================
