---------------------- MODULE broker_epochs_in_memory -----------------------
(* A controller knows the incarnations of brokers since it was elected, and  *)
(* takes one that was registered before that for a member.                   *)
EXTENDS Cluster

WrongIsCurrent(c, member) ==
    LET seen == controllers[c].view[member.broker]
    IN /\ seen # Unregistered
       /\ seen = member.broker_epoch \/ seen < controllers[c].czxid
=============================================================================
