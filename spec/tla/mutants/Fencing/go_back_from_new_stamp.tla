----------------------- MODULE go_back_from_new_stamp -----------------------
(* A broker goes back to the older code whatever the controller sends.       *)
EXTENDS Fencing

WrongMayGoBack == TRUE
=============================================================================
