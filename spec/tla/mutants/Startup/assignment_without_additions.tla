-------------------- MODULE assignment_without_additions --------------------
(* No reader of the assignment knows of a pending reassignment.              *)
EXTENDS Startup

WrongIsAssigned(tree, p) == IsNamedByTopic(tree, p)
=============================================================================
