------------------ MODULE high_watermark_from_leader_alone ------------------
(* The leader commits what it has itself.                                    *)
EXTENDS Replication

WrongQuorum(l) == {l}
=============================================================================
