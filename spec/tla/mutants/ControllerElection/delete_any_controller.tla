----------------------- MODULE delete_any_controller ------------------------
(* A controller that resigns deletes /controller, whichever is there.      *)
EXTENDS ControllerElection

WrongWithoutSpoilt(b) == [znodes EXCEPT ![ControllerPath] = Absent]
=============================================================================
