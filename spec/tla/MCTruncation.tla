---------------------------- MODULE MCTruncation ----------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS Truncation

Bounds == [length |-> MaxLength]
=============================================================================
