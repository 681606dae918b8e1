----------------------- MODULE bounce_to_older_code ------------------------
(* A broker that stops starts again with the code before the upgrade.       *)
EXTENDS Forwarding

WrongBounce(b, is_old, has_code) ==
    LET lost == {m.request : m \in {m \in messages : m.to = b}}
                    \cup {nodes[b].writing[i].request : i \in DOMAIN nodes[b].writing}
    IN /\ nodes' = [nodes EXCEPT ![b] = [is_old |-> is_old, has_code |-> FALSE,
                                         active_controller_id |-> NoBroker,
                                         controller_epoch |-> NoEpoch, writing |-> <<>>]]
       /\ controller' = IF controller.controller_id = b
                        THEN [controller EXCEPT !.controller_id = NoBroker] ELSE controller
       /\ messages' = {m \in messages : m.to # b}
       /\ answers' = [r \in Requests |-> IF r \in lost THEN "unknown" ELSE answers[r]]
       /\ UNCHANGED <<config, seen, effects>>
=============================================================================
