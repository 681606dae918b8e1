------------------------ MODULE expired_token_counts ------------------------
(* A token counts whatever the time is.                                    *)
EXTENDS DelegationTokens

WrongIsOver(one) == ~one.is_there
=============================================================================
