------------------------ MODULE take_epoch_as_written ------------------------
(* The next epoch is one more than what the znode says, whoever wrote that.  *)
EXTENDS ControllerElection

WrongRaisedEpoch == CurrentEpoch + 1
=============================================================================
