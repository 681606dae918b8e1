---------------------- MODULE own_name_is_own_session -----------------------
(* A broker that finds its name in /controller takes the office for its own. *)
EXTENDS ControllerElection

WrongIsOwnOffice(b) == Controller.data = <<b>>
=============================================================================
