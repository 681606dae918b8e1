---------------------- MODULE controller_speaks_ahead -----------------------
(* A controller speaks what its code understands.                            *)
EXTENDS BrokerEpochUpgrade

WrongSpokenBy(b) == replicas[b].level
=============================================================================
