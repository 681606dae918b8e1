------------------ MODULE admit_replicas_of_earlier_epochs ------------------
(* A leader counts what a replica held before its last election.             *)
EXTENDS Reassignment

WrongIsOfThisEpoch(b, f) == TRUE
=============================================================================
