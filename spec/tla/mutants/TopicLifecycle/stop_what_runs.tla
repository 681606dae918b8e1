--------------------------- MODULE stop_what_runs ---------------------------
(* Stops go to the brokers that run, and are done then.                    *)
EXTENDS TopicLifecycle

WrongStopReceivers == {b \in Brokers : replicas[b].is_up}
=============================================================================
