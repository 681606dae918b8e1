----------------------------- MODULE MCFencing ------------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS FencingSteps

CONSTANTS MaxRecords, MaxCrashes, MaxExpiries, MaxControllerChanges, MaxUpgrades,
    MaxDowngrades

Bounds ==
    [records |-> MaxRecords, crashes |-> MaxCrashes, expiries |-> MaxExpiries,
     controller_changes |-> MaxControllerChanges, upgrades |-> MaxUpgrades, shutdowns |-> 0,
     downgrades |-> MaxDowngrades]
=============================================================================
