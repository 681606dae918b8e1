---------------------------- MODULE keep_number -----------------------------
(* What is new is told under the number of what was told before.             *)
EXTENDS MetadataBodies

WrongRenewed(controller) == [controller EXCEPT !.sent = {}]
=============================================================================
