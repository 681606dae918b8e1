------------------------ MODULE MCControllerElection ------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS ControllerElectionSteps

CONSTANTS MaxCrashes, MaxExpiries, MaxLostReplies, MaxDeletions, MaxOverwrites, MaxEpochWrites

Bounds ==
    [crashes |-> MaxCrashes, expiries |-> MaxExpiries, lost_replies |-> MaxLostReplies,
     deletions |-> MaxDeletions, overwrites |-> MaxOverwrites, epoch_writes |-> MaxEpochWrites]
=============================================================================
