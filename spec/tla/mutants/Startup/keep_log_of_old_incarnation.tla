-------------------- MODULE keep_log_of_old_incarnation ---------------------
(* The broker goes on with the log that it finds, whichever incarnation it is*)
(* of.                                                                       *)
EXTENDS Startup

WrongLogAfter(p, state) == IF broker.logs[p] # 0 THEN broker.logs[p] ELSE state.incarnation
=============================================================================
