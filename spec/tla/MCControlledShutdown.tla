------------------------ MODULE MCControlledShutdown ------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS ControlledShutdown

CONSTANTS MaxRecords, MaxCrashes, MaxExpiries, MaxControllerChanges, MaxShutdowns

Bounds ==
    [records |-> MaxRecords, crashes |-> MaxCrashes, expiries |-> MaxExpiries,
     controller_changes |-> MaxControllerChanges, upgrades |-> 0, shutdowns |-> MaxShutdowns,
     downgrades |-> 0]
=============================================================================
