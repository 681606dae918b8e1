------------------------ MODULE forget_what_is_gone -------------------------
(* A broker that was told to stop a topic obeys a late command about it.   *)
EXTENDS TopicLifecycle

WrongIsKnownToBeGone(b, incarnation) == FALSE
=============================================================================
