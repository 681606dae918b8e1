-------------------- MODULE forget_own_controller_znode ---------------------
(* A broker that finds its own /controller takes it for another's.           *)
EXTENDS ControllerElection

WrongIsOwnOffice(b) == FALSE
=============================================================================
