---------------------- MODULE no_controller_term_check ----------------------
(* A controller's write does not check the term.                             *)
EXTENDS ControllerElection

WrongTermCheck(b) == <<>>
=============================================================================
