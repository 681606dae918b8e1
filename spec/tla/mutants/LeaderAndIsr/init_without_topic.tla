------------------------- MODULE init_without_topic -------------------------
(* A controller decides the first leader of a topic that is not there.        *)
EXTENDS LeaderAndIsr

WrongHasTopic == TRUE
=============================================================================
