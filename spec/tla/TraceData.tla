----------------------------- MODULE TraceData ------------------------------
(* The runs to replay, as a constant. `spec/replay` puts a module of this    *)
(* name, with recorded runs in it, in the place of this one, which has none. *)
EXTENDS Integers, Sequences, TLC

(* One per partition of a run, or a segment of one.                          *)
Recorded == <<>>

(* A recorded fault happened: no budget bounds it. *)
Unlimited == [what \in {} |-> 1000]
=============================================================================
