------------------------ MODULE stop_any_incarnation ------------------------
(* A broker that is told to stop some incarnation deletes its directory,     *)
(* whichever that is of.                                                     *)
EXTENDS Partitions

WrongIsStopped(b, incarnation) == TRUE
=============================================================================
