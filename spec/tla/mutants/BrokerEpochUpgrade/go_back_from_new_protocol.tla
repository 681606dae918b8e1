--------------------- MODULE go_back_from_new_protocol ----------------------
(* A broker goes back to the older code whatever others speak.               *)
EXTENDS BrokerEpochUpgrade

WrongMayTakeBack == TRUE
=============================================================================
