------------------- MODULE acknowledge_before_replication -------------------
(* The leader acknowledges what it has appended (acks=1).                    *)
EXTENDS ClientHistory

WrongIsPassed(b, offset) == TRUE
=============================================================================
