--------------- MODULE startup_read_overwrites_newer_command ----------------
(* The broker takes state and role from its read, whatever came in between   *)
(* (V3 E).                                                                   *)
EXTENDS Startup

WrongKnownOnceRead(tree, p) == StateIn(tree, p)
WrongTakesRoleFrom(tree, p) == IsAssigned(tree, p)
=============================================================================
