------------------------ MODULE leader_stays_outside ------------------------
(* The leader stays, though it is no member of the new ISR.                  *)
EXTENDS Reassignment

WrongLeaderWithin(isr) == State.leader
=============================================================================
