----------------------- MODULE no_znode_version_check -----------------------
(* A leader replaces the state whatever version it has.                      *)
EXTENDS Fencing

WrongExpectedVersion(l) == AnyVersion
=============================================================================
