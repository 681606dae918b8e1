--------------------------- MODULE charge_refused ---------------------------
(* A refused topic costs a partition.                                        *)
EXTENDS MutationQuota

WrongRefusalCharge == Cost
=============================================================================
