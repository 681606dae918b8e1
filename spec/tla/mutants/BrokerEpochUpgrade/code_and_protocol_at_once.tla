--------------------- MODULE code_and_protocol_at_once ----------------------
(* What brings the code raises the protocol too.                             *)
EXTENDS BrokerEpochUpgrade

WrongProtocolWithCode == 3
=============================================================================
