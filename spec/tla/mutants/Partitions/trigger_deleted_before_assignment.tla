----------------- MODULE trigger_deleted_before_assignment ------------------
(* A partition is initialised as soon as a request names it, and the request *)
(* is deleted before the topic names the partition (V3).                     *)
EXTENDS Partitions

WrongIsInitDue == Exists(znodes, AddPath)

WrongAddStep(c) ==
    \/ /\ Exists(znodes, AddPath) /\ HasState
       /\ Decide(c, [controllers[c] EXCEPT !.is_unwritten = TRUE],
                 <<DeleteOp(AddPath, AnyVersion)>>)
    \/ /\ ~Exists(znodes, AddPath) /\ controllers[c].is_unwritten
       /\ Decide(c, [controllers[c] EXCEPT !.is_unwritten = FALSE],
                 <<WithTopic(TRUE, Topic.removing)>>)
=============================================================================
