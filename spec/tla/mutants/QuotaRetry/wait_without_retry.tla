------------------------- MODULE wait_without_retry -------------------------
(* A client waits and forgets what for.                                      *)
EXTENDS QuotaRetry

WrongIsToAskAgain == FALSE
=============================================================================
