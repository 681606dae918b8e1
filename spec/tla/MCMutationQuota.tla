--------------------------- MODULE MCMutationQuota ---------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS MutationQuota

CONSTANTS MaxTicks, MaxMutations, MaxRefusals, MaxValidations, MaxFailovers, MaxClockSteps

Bounds ==
    [ticks |-> MaxTicks, mutations |-> MaxMutations, refusals |-> MaxRefusals,
     validations |-> MaxValidations, failovers |-> MaxFailovers, clock_steps |-> MaxClockSteps]
=============================================================================
