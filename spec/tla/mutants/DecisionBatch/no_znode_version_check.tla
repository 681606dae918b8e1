----------------------- MODULE no_znode_version_check -----------------------
(* Each operation of a multi is accepted on any version.                     *)
EXTENDS DecisionBatch

WrongIsAccepted(batch) == ~IsTooLarge(batch)
=============================================================================
