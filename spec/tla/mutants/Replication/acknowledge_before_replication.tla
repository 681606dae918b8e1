------------------- MODULE acknowledge_before_replication -------------------
(* The leader acknowledges what it has appended (acks=1).                    *)
EXTENDS Replication

WrongAcknowledgedAtOnce(entry) == {entry}
=============================================================================
