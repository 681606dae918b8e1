----------------------- MODULE deletion_leaves_state ------------------------
(* A topic is deleted without what is under it.                              *)
EXTENDS TopicLifecycle

WrongDeletionOfState == <<>>
=============================================================================
