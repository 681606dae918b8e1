---------------------- MODULE unrecorded_last_replica -----------------------
(* A broker that is back leads, and nothing says so.                         *)
EXTENDS Fencing

WrongTellsLoss == FALSE
=============================================================================
