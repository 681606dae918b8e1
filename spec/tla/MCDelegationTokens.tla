------------------------- MODULE MCDelegationTokens -------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS DelegationTokens

CONSTANTS MaxChanges

Bounds == [changes |-> MaxChanges]
=============================================================================
