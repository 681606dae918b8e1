----------------------- MODULE keep_overwritten_znode -----------------------
(* A controller that finds its znode overwritten leaves it there.            *)
EXTENDS ControllerElection

WrongWithoutSpoilt(b) == znodes
=============================================================================
