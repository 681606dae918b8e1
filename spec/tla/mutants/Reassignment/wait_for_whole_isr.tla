------------------------- MODULE wait_for_whole_isr -------------------------
(* The switch waits until the old replicas are in the ISR too, the dead among*)
(* them (V3).                                                                *)
EXTENDS Reassignment

WrongIsCaughtUp(target) == State.isr = Topic.assigned \cup target
=============================================================================
