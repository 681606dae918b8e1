------------------------ MODULE upgrade_in_one_step -------------------------
(* The protocol is raised before every broker has the code.                  *)
EXTENDS BrokerEpochUpgrade

WrongMaySpeak == \E b \in Brokers : replicas[b].level = 3
=============================================================================
