----------------------- MODULE believe_any_principal ------------------------
(* A name in a request counts on every connection.                           *)
EXTENDS Forwarding

WrongPrincipal(m) ==
    IF m.request \in Finders /\ ~m.from_broker THEN Broker ELSE m.principal
=============================================================================
