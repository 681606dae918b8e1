-------------------------- MODULE fail_when_refused -------------------------
(* A client takes a refusal for the end of its call.                         *)
EXTENDS QuotaRetry

WrongIsPatient == FALSE
=============================================================================
