------------------- MODULE shrink_on_election_empties_isr -------------------
(* A partition that waits for a leader has no ISR either.                    *)
EXTENDS LeaderAndIsr

WrongIsrWithoutLeader == {}
=============================================================================
