---------------------- MODULE delete_before_assignment ----------------------
(* The ISR is switched, then the old replicas are deleted, and the assignment*)
(* changes last (V3).                                                        *)
EXTENDS Reassignment

IsHalfDone(target) == State.isr = target

WrongSwitchOps(target) ==
    RequestCheck \o <<IF IsHalfDone(target) THEN WithTopic(target, {}) ELSE WithIsr(target)>>
WrongIsSwitchDue(c, target) ==
    /\ Topic.assigned # target \/ Topic.adding # {}
    /\ IsHalfDone(target) => controllers[c].is_stop_sent
WrongToStop(c) ==
    Topic.removing \cup (IF IsHalfDone(Target(c)) THEN Topic.assigned \ State.isr ELSE {})
=============================================================================
