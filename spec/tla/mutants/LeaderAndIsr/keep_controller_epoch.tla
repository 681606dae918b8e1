----------------------- MODULE keep_controller_epoch ------------------------
(* A decision bears the controller epoch that it finds.                      *)
EXTENDS LeaderAndIsr

WrongDecided(c, leader, leader_epoch, isr, expected_version, is_isr_alive) ==
    [controllers EXCEPT ![c].decision =
        <<[state |-> [leader |-> leader, leader_epoch |-> leader_epoch, isr |-> isr,
                      controller_epoch |-> IF Exists(znodes, StatePath) THEN State.controller_epoch
                                           ELSE controllers[c].controller_epoch],
           expected_version |-> expected_version, is_isr_alive |-> is_isr_alive]>>]
=============================================================================
