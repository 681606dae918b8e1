------------------------ MODULE protocol_before_code ------------------------
(* The protocol is raised while some brokers have the old code.              *)
EXTENDS Forwarding

WrongHaveCode == TRUE
=============================================================================
