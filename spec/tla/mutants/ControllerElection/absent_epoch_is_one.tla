------------------------ MODULE absent_epoch_is_one -------------------------
(* An absent epoch is read as the initial value 1.                           *)
EXTENDS ControllerElection

WrongEpochBeforeTheFirst == 1
=============================================================================
