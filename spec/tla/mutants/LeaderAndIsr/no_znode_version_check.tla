----------------------- MODULE no_znode_version_check -----------------------
(* A write replaces the state whatever its version.                          *)
EXTENDS LeaderAndIsr

WrongNamedVersion(known) == AnyVersion
=============================================================================
