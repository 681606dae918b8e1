---------------------------- MODULE MCForwarding ----------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS ForwardingSteps

CONSTANTS MaxElections, MaxLosses, MaxLostReplies, MaxDowngrades

Bounds ==
    [elections |-> MaxElections, losses |-> MaxLosses, lost_replies |-> MaxLostReplies,
     downgrades |-> MaxDowngrades]
=============================================================================
