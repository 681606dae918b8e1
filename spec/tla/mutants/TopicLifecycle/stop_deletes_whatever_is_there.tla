------------------- MODULE stop_deletes_whatever_is_there -------------------
(* A broker that is told to stop some incarnation deletes its directory,     *)
(* whichever that is of.                                                     *)
EXTENDS TopicLifecycle

WrongIsGone(b, gone) == TRUE
=============================================================================
