------------------------ MODULE leader_epoch_goes_on ------------------------
(* A topic that is made again goes on with the leader epoch of the one       *)
(* before.                                                                   *)
EXTENDS Startup

WrongFirstLeaderEpoch(p) == StateIn(znodes, p).leader_epoch + 1
=============================================================================
