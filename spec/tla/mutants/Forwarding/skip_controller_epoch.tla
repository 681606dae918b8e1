----------------------- MODULE skip_controller_epoch ------------------------
(* An election raises the controller epoch by two.                         *)
EXTENDS Forwarding

WrongNextControllerEpoch == controller.controller_epoch + 2
=============================================================================
