-------------------------- MODULE MCClientHistory ---------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS ClientHistory

CONSTANTS MaxRecords, MaxFetches, MaxElections, MaxIsrChanges, MaxCrashes, MaxExpiries

Bounds ==
    [records |-> MaxRecords, fetches |-> MaxFetches, elections |-> MaxElections,
     isr_changes |-> MaxIsrChanges, crashes |-> MaxCrashes, expiries |-> MaxExpiries,
     controller_expiries |-> 0, losses |-> 0, duplicates |-> 0, lost_replies |-> 0,
     lost_requests |-> 0]
=============================================================================
