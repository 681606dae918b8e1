------------------------ MODULE commit_with_old_isr -------------------------
(* While a change of the ISR is in flight, the leader waits for the old ISR  *)
(* alone.                                                                    *)
EXTENDS Replication

WrongQuorum(l) == replicas[l].isr
=============================================================================
