------------------------ MODULE stop_before_unassign ------------------------
(* The stop is sent first, then the request is deleted, and the topic is     *)
(* changed last (V3).                                                        *)
EXTENDS Partitions

WrongStopped == Incarnation

WrongRemoveStep(c) ==
    \/ /\ Exists(znodes, RemovePath) /\ controllers[c].is_stop_sent
       /\ Decide(c, [controllers[c] EXCEPT !.is_stop_sent = FALSE, !.is_unwritten = TRUE],
                 <<DeleteOp(RemovePath, AnyVersion)>>)
    \/ /\ ~Exists(znodes, RemovePath) /\ controllers[c].is_unwritten
       /\ Decide(c, [controllers[c] EXCEPT !.is_unwritten = FALSE], Unassign(NoIncarnation))
=============================================================================
