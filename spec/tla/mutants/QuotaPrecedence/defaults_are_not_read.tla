----------------------- MODULE defaults_are_not_read ------------------------
(* A quota applies to what it names, and defaults to nothing.                *)
EXTENDS QuotaPrecedence

WrongOrder(client) ==
    <<[user |-> client.user, client_id |-> client.client_id],
      [user |-> client.user, client_id |-> None],
      [user |-> None, client_id |-> client.client_id]>>
=============================================================================
