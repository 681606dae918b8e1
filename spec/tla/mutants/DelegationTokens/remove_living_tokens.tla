------------------------ MODULE remove_living_tokens ------------------------
(* A controller removes a token however long it is to live.                *)
EXTENDS DelegationTokens

WrongMayRemove == TRUE
=============================================================================
