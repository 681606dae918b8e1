------------------------ MODULE MCBrokerEpochUpgrade ------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS BrokerEpochUpgrade

CONSTANTS MaxRecords, MaxExpiries, MaxControllerChanges, MaxUpgrades, MaxDowngrades

Bounds ==
    [records |-> MaxRecords, crashes |-> 0, expiries |-> MaxExpiries, controller_changes |-> MaxControllerChanges,
     upgrades |-> MaxUpgrades, shutdowns |-> 0,
     downgrades |-> MaxDowngrades]
=============================================================================
