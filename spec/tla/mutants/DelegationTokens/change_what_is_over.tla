------------------------ MODULE change_what_is_over -------------------------
(* A controller renews a token that is over.                               *)
EXTENDS DelegationTokens

WrongMayChange == budget > 0
=============================================================================
