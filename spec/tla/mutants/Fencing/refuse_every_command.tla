------------------------ MODULE refuse_every_command ------------------------
(* A broker that was restarted takes no command for newer than what it read. *)
EXTENDS Fencing

WrongIsNewer(b, m) ==
    m.leader_epoch > replicas[b].leader_epoch /\ replicas[b].broker_epoch \in Brokers
=============================================================================
