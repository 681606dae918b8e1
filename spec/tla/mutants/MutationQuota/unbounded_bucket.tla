-------------------------- MODULE unbounded_bucket --------------------------
(* Unused rate is kept for ever.                                             *)
EXTENDS MutationQuota

WrongKept(tokens) == tokens
=============================================================================
