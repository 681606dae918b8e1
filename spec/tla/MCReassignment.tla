--------------------------- MODULE MCReassignment ---------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS ReassignmentSteps

CONSTANTS MaxRequests, MaxCancellations, MaxAdditions, MaxCrashes,
    MaxControllerCrashes, MaxControllerExpiries

Bounds ==
    [requests |-> MaxRequests, cancellations |-> MaxCancellations, additions |-> MaxAdditions,
     crashes |-> MaxCrashes, controller_crashes |-> MaxControllerCrashes,
     controller_expiries |-> MaxControllerExpiries]
=============================================================================
