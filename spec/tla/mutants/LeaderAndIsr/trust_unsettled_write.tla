----------------------- MODULE trust_unsettled_write ------------------------
(* Whatever a writer finds after an answer that is missing, it takes for its *)
(* own write.                                                                *)
EXTENDS LeaderAndIsr

WrongIsOwnWrite(state, expected_version) == TRUE
=============================================================================
