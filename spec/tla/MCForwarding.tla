---------------------------- MODULE MCForwarding ----------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS ForwardingSteps

CONSTANTS MaxElections, MaxLosses, MaxLostReplies

Bounds == [elections |-> MaxElections, losses |-> MaxLosses, lost_replies |-> MaxLostReplies]
=============================================================================
