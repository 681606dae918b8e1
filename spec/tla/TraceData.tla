----------------------------- MODULE TraceData ------------------------------
(* The runs to replay, as a constant. `spec/replay` puts a module of this    *)
(* name, with recorded runs in it, in the place of this one, which has none. *)
EXTENDS Integers, Sequences

(* One per partition of a run: [assigned, assigned_replicas, events].        *)
Recorded == <<>>

(* A recorded fault happened: no budget bounds it. *)
Unlimited == [what \in {} |-> 1000]
=============================================================================
