-------------------------- MODULE never_rediscover --------------------------
(* A broker keeps the controller that it knew first.                         *)
EXTENDS Forwarding

WrongLooksForController(b) == FALSE
=============================================================================
