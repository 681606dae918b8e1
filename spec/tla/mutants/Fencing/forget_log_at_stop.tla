------------------------- MODULE forget_log_at_stop -------------------------
(* A process that ends takes its log with it.                              *)
EXTENDS Fencing

WrongStoppedReplica(r) ==
    [r EXCEPT !.role = "down", !.broker_epoch = NoBrokerEpoch, !.leader = NoBroker,
              !.leader_epoch = NoEpoch, !.isr = {}, !.znode_version = NoEpoch, !.caught_up = {},
              !.has_record = FALSE]
=============================================================================
