------------------------- MODULE write_what_is_gone -------------------------
(* A change brings back a token that was removed.                          *)
EXTENDS DelegationTokens

WrongIsAsRead(c) ==
    \/ change[c].kind = "renew"
    \/ token.is_there /\ token.version = change[c].version
=============================================================================
