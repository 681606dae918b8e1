----------------------------- MODULE MCStartup ------------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS StartupSteps

CONSTANTS MaxCrashes, MaxChanges, MaxControllerChanges

Bounds ==
    [crashes |-> MaxCrashes, changes |-> MaxChanges, controller_changes |-> MaxControllerChanges]
=============================================================================
