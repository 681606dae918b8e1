--------------------- MODULE forget_stopped_incarnation ---------------------
(* A broker forgets what it was told to stop, and obeys a late command about *)
(* it.                                                                       *)
EXTENDS TopicLifecycle

WrongIsKnownToBeGone(b, incarnation) == FALSE
WrongOldestOnceStopped(incarnation) == 1
=============================================================================
