--------------------- MODULE leave_registration_behind ----------------------
(* A broker that ends leaves its session to time out.                      *)
EXTENDS ControlledShutdown

WrongOnceLeft(b) == znodes
=============================================================================
