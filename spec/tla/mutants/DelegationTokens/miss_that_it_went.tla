------------------------- MODULE miss_that_it_went --------------------------
(* A broker does not see that a token went.                                *)
EXTENDS DelegationTokens

WrongLearnt(b) == [token EXCEPT !.is_there = TRUE]
=============================================================================
