------------------- MODULE unconditional_assignment_write -------------------
(* The topic znode is written whatever its version has become (V3).          *)
EXTENDS Reassignment

WrongAssignmentVersion == AnyVersion
=============================================================================
