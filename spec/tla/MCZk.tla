-------------------------------- MODULE MCZk --------------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS ZkSteps

CONSTANTS MaxWrites, MaxSessions, MaxCloses, MaxAbandonments, MaxExpiries, MaxLostReplies,
    MaxLostRequests

Bounds ==
    [writes |-> MaxWrites, sessions |-> MaxSessions, closes |-> MaxCloses,
     abandonments |-> MaxAbandonments, expiries |-> MaxExpiries,
     lost_replies |-> MaxLostReplies, lost_requests |-> MaxLostRequests]
=============================================================================
