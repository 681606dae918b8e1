----------------------- MODULE forget_controller_epoch ----------------------
(* A broker remembers no controller epoch but that which it has read.        *)
EXTENDS Cluster

WrongControllerEpochAfter(b, m) == brokers[b].controller_epoch
=============================================================================
