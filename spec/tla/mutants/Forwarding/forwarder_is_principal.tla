----------------------- MODULE forwarder_is_principal -----------------------
(* A forwarded request is judged for the broker that passed it on.           *)
EXTENDS Forwarding

WrongPrincipal(m) ==
    IF m.from_broker \/ m.request \in Finders THEN Broker ELSE "client"
=============================================================================
