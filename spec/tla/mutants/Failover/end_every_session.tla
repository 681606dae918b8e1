------------------------- MODULE end_every_session --------------------------
(* ZooKeeper ends sessions that are kept alive.                              *)
EXTENDS Failover

WrongIsDead(b) == TRUE
=============================================================================
