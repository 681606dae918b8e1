----------------------- MODULE believe_any_principal ------------------------
(* A name in a request counts on every connection.                           *)
EXTENDS Forwarding

WrongPrincipal(m) == m.principal
=============================================================================
