---------------------- MODULE compare_broker_ids_only -----------------------
(* A member of the ISR is the broker that is registered under its id.        *)
EXTENDS Cluster

WrongIsCurrent(c, member) == controllers[c].view[member.broker] # Unregistered
=============================================================================
