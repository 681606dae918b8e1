------------------------ MODULE charge_validate_only ------------------------
(* A request that is only validated costs a partition.                       *)
EXTENDS MutationQuota

WrongValidationCharge == Cost
=============================================================================
