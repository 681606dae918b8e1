---------------------- MODULE write_whatever_was_read -----------------------
(* A change is written over what another has written since.                *)
EXTENDS DelegationTokens

WrongIsAsRead(c) == token.is_there
=============================================================================
