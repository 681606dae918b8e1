-------------------------- MODULE MCQuotaPrecedence --------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS QuotaPrecedence

CONSTANTS MaxAlterations

Bounds == [alterations |-> MaxAlterations]
=============================================================================
