------------------ MODULE delete_unassigned_on_stale_read -------------------
(* The broker reads from any server, however far that lags.                  *)
EXTENDS Startup

WrongIsRecent(i) == TRUE
=============================================================================
