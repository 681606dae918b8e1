---------------------------- MODULE no_step_down ----------------------------
(* A leader that was refused goes on with the ISR that it wanted.            *)
EXTENDS LeaderAndIsr

WrongAfterConflict(b) == Settled(b, replicas[b].pending_isr[1], replicas[b].znode_version)
=============================================================================
