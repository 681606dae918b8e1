------------------------ MODULE MCReplicationUnclean ------------------------
(* A root of its own: an election outside the ISR loses records, so that     *)
(* most properties of `Replication` are not checked here.                    *)
EXTENDS ReplicationLiveness

CONSTANTS MaxRecords, MaxElections, MaxExpiries, MaxIsrChanges

Bounds ==
    [records |-> MaxRecords, elections |-> MaxElections, expiries |-> MaxExpiries,
     isr_changes |-> MaxIsrChanges, crashes |-> 0, controller_expiries |-> 0, losses |-> 0,
     duplicates |-> 0, lost_replies |-> 0, lost_requests |-> 0]
=============================================================================
