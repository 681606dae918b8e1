----------------------- MODULE ignore_changed_target ------------------------
(* The agent of a reassignment keeps the first request that it saw (V3).     *)
EXTENDS Reassignment

WrongTarget(c) ==
    IF controllers[c].remembered # <<>> THEN controllers[c].remembered[1]
    ELSE IF IsRequested THEN znodes[ReassignmentPath].data.replicas ELSE Settled
WrongRemembered(c, target) == IF IsRequested THEN <<target>> ELSE controllers[c].remembered
WrongRequestVersion == AnyVersion
WrongRequestCheck == <<>>
=============================================================================
