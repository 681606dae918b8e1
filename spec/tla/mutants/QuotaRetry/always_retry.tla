---------------------------- MODULE always_retry ----------------------------
(* A client that does not want to wait is made to.                           *)
EXTENDS QuotaRetry

WrongIsPatient == left > 0
=============================================================================
