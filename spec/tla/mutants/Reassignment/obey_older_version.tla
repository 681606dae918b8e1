------------------------- MODULE obey_older_version -------------------------
(* A broker obeys what its leader epoch allows, in any order.              *)
EXTENDS Reassignment

WrongIsObeyed(b, m) ==
    /\ m.to = b
    /\ replicas[b].is_up
    /\ m.type = "leader_and_isr"
    /\ m.leader_epoch >= replicas[b].leader_epoch
=============================================================================
