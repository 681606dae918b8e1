---------------------- MODULE compare_broker_ids_only -----------------------
(* The list of ids is compared, and nothing else (V3).                       *)
EXTENDS Fencing

WrongHasIdsOnly == TRUE
WrongIsAsRemembered(member, epochs) == epochs[member.broker] # 0
WrongArrived(differing, look) == {b \in differing : look[b] # 0 /\ controller.view[b] = 0}
WrongRemembered(differing) == {}
=============================================================================
