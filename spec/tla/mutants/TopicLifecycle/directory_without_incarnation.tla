------------------- MODULE directory_without_incarnation --------------------
(* A broker recognises a directory by the name of the topic, and takes over  *)
(* what another topic left.                                                  *)
EXTENDS TopicLifecycle

WrongKeepsDirectory(b, incarnation) == TRUE
WrongIsLeftOver(b) == ~Exists(znodes, TopicPath)
=============================================================================
