-------------------------- MODULE watch_fires_once --------------------------
(* A broker reads the first change, and sets no watch again.                 *)
EXTENDS Forwarding

WrongIsNotified(b) == seen[b] = 0 /\ config.version # 0
=============================================================================
