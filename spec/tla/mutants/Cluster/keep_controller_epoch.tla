----------------------- MODULE keep_controller_epoch ------------------------
(* A decision bears the controller epoch that it finds.                      *)
EXTENDS Cluster

WrongStateWrite(c, p, leader, leader_epoch, isr) ==
    [partition |-> p, version |-> IF HasState(p) THEN StateVersion(p) ELSE NoVersion,
     state |-> [leader |-> leader, leader_epoch |-> leader_epoch, isr |-> isr,
                controller_epoch |-> IF HasState(p) THEN State(p).controller_epoch
                                     ELSE controllers[c].controller_epoch]]
=============================================================================
