--------------------- MODULE new_replicas_not_persisted ---------------------
(* New replicas are told and catch up while only the request names them (V3).*)
EXTENDS Reassignment

WrongBootstrapped(target) == Topic.assigned
WrongAddressed ==
    Topic.assigned \cup (IF IsRequested THEN znodes[ReassignmentPath].data.replicas ELSE {})
=============================================================================
