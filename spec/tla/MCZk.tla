-------------------------------- MODULE MCZk --------------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS Zk

CONSTANTS MaxWrites, MaxSessions, MaxCloses, MaxExpiries, MaxLostReplies

Bounds ==
    [writes |-> MaxWrites, sessions |-> MaxSessions, closes |-> MaxCloses,
     expiries |-> MaxExpiries, lost_replies |-> MaxLostReplies]
=============================================================================
