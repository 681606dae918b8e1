------------------------ MODULE let_go_without_move -------------------------
(* A broker is let go, and nothing is decided without it.                  *)
EXTENDS ControlledShutdown

WrongIsOwed == is_move_due
=============================================================================
