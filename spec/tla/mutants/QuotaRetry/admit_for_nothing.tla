------------------------- MODULE admit_for_nothing --------------------------
(* A topic is admitted and costs no tokens.                                *)
EXTENDS QuotaRetry

WrongPaid == tokens
=============================================================================
