------------------------ MODULE keep_outlived_tokens ------------------------
(* No controller removes a token that is over.                             *)
EXTENDS DelegationTokens

WrongMayRemove == FALSE
=============================================================================
