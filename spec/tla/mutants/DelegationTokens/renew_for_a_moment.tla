------------------------- MODULE renew_for_a_moment -------------------------
(* A renewed token is over a tick later.                                     *)
EXTENDS DelegationTokens

WrongRenewedFor == Min(1, token.life)
=============================================================================
