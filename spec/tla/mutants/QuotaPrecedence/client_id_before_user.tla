----------------------- MODULE client_id_before_user ------------------------
(* A quota for the client-id goes before one for the user.                   *)
EXTENDS QuotaPrecedence

WrongOrder(client) ==
    <<[user |-> client.user, client_id |-> client.client_id],
      [user |-> None, client_id |-> client.client_id],
      [user |-> client.user, client_id |-> None],
      [user |-> client.user, client_id |-> Default],
      [user |-> Default, client_id |-> client.client_id],
      [user |-> Default, client_id |-> Default],
      [user |-> Default, client_id |-> None],
      [user |-> None, client_id |-> Default]>>
=============================================================================
