------------------------- MODULE ask_after_failure --------------------------
(* A call that has failed asks again.                                      *)
EXTENDS QuotaRetry

WrongIsToAskAgain == status \in {"waiting", "failed"} /\ wait = 0
=============================================================================
