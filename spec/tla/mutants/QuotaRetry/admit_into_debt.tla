-------------------------- MODULE admit_into_debt ---------------------------
(* A topic is admitted whatever is owed already.                           *)
EXTENDS QuotaRetry

WrongIsAdmitting == TRUE
=============================================================================
