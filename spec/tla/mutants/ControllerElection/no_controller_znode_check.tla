--------------------- MODULE no_controller_znode_check ----------------------
(* A controller's write checks the epoch alone: neither /controller nor the  *)
(* term.                                                                     *)
EXTENDS ControllerElection

WrongOfficeCheck == <<>>
WrongTermCheck(b) == <<>>
=============================================================================
