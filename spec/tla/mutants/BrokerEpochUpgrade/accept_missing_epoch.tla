------------------------ MODULE accept_missing_epoch ------------------------
(* Code that does not know the new field takes the command for any process.  *)
EXTENDS BrokerEpochUpgrade

WrongMaySpeak == \E b \in Brokers : replicas[b].level = 3
WrongObeysUnread == TRUE
=============================================================================
