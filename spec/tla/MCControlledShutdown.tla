------------------------ MODULE MCControlledShutdown ------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS ControlledShutdown

CONSTANTS MaxRecords, MaxCrashes, MaxControllerChanges, MaxShutdowns

Bounds ==
    [records |-> MaxRecords, crashes |-> MaxCrashes, expiries |-> 0,
     controller_changes |-> MaxControllerChanges, upgrades |-> 0, shutdowns |-> MaxShutdowns]
=============================================================================
