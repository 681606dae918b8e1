----------------------- MODULE coordinator_as_client ------------------------
(* The internal topic is created for the client that asks first, with its    *)
(* rights.                                                                   *)
EXTENDS Forwarding

WrongPassedOnFor(m) == "client"
=============================================================================
