-------------------------- MODULE end_offset_alone --------------------------
(* The follower cuts where the leader's records end and does not look where  *)
(* its own records of the answered epoch end.                                *)
EXTENDS Truncation

WrongLogAfterAnswer ==
    Truncated(follower, EndOffsetForEpoch(leader, LatestEpoch(follower)).end_offset)
=============================================================================
