------------------------- MODULE refuse_old_clients -------------------------
(* A request is refused in any version.                                      *)
EXTENDS MutationQuota

WrongIsRefusable(c) == TRUE
=============================================================================
