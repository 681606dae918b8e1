----------------- MODULE trust_version_across_incarnations ------------------
(* The version of a znode alone says that nothing has changed (V3).          *)
EXTENDS TopicLifecycle

WrongIdCheck(incarnation) == <<>>
=============================================================================
