----------------------- MODULE renew_past_the_maximum -----------------------
(* A renewed token lives as long as is asked.                              *)
EXTENDS DelegationTokens

WrongRenewedFor == Renewal
=============================================================================
