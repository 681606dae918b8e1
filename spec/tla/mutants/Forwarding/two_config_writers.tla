------------------------- MODULE two_config_writers -------------------------
(* A writer does not check that the znode is as it read it.                  *)
EXTENDS Forwarding

WrongIsUnchanged(write) == TRUE
=============================================================================
