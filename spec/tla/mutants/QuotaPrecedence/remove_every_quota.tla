------------------------- MODULE remove_every_quota -------------------------
(* To take one quota away takes all of them away.                          *)
EXTENDS QuotaPrecedence

WrongAltered(entity) == IF entity \in quotas THEN {} ELSE quotas \cup {entity}
=============================================================================
