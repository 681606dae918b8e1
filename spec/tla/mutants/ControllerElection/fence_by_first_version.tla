----------------------- MODULE fence_by_first_version -----------------------
(* The election creates /controller and does not write it again: its version *)
(* is that of any znode that was made by hand.                               *)
EXTENDS ControllerElection

WrongTakeOffice(b) == <<CreateOp(ControllerPath, <<b>>, candidates[b].session_id)>>
WrongOfficeVersion == 0
=============================================================================
