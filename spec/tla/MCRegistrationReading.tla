----------------------- MODULE MCRegistrationReading ------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS RegistrationReading, FencingSteps

CONSTANTS MaxRecords, MaxCrashes, MaxExpiries, MaxControllerChanges

Bounds ==
    [records |-> MaxRecords, crashes |-> MaxCrashes, expiries |-> MaxExpiries,
     controller_changes |-> MaxControllerChanges, upgrades |-> 0, shutdowns |-> 0,
     downgrades |-> 0]
=============================================================================
