------------------------- MODULE wait_without_time --------------------------
(* A client waits though the time of its call is over.                      *)
EXTENDS QuotaRetry

WrongIsPatient == is_retrying
=============================================================================
