----------------------- MODULE start_in_first_session -----------------------
(* A process that starts goes on in the first session that there was.      *)
EXTENDS ControllerElection

WrongCandidate(session_id, known_epoch) ==
    [status |-> "standing", session_id |-> 1, controller_epoch |-> 0, epoch_version |-> -1,
     known_epoch |-> known_epoch]
=============================================================================
