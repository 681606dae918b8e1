------------------------- MODULE tell_every_broker --------------------------
(* Commands go to brokers that are not assigned, too.                      *)
EXTENDS Reassignment

WrongAddressed == Brokers
=============================================================================
