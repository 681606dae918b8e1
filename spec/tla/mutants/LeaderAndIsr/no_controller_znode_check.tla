--------------------- MODULE no_controller_znode_check ----------------------
(* A controller's write does not check /controller.                          *)
EXTENDS LeaderAndIsr

WrongOfficeCheck == <<>>
=============================================================================
