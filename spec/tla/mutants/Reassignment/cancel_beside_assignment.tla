---------------------- MODULE cancel_beside_assignment ----------------------
(* A cancellation deletes the request and nothing else.                      *)
EXTENDS Reassignment

WrongTouchTopic == <<>>
=============================================================================
