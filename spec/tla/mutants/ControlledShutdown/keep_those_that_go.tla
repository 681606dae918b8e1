------------------------- MODULE keep_those_that_go -------------------------
(* Those that shut down stay members.                                      *)
EXTENDS ControlledShutdown

WrongStayingMembers == CurrentMembers
=============================================================================
