-------------------------- MODULE user_before_both --------------------------
(* A quota for the user goes before those that look at the client-id as well.*)
EXTENDS QuotaPrecedence

WrongOrder(client) ==
    <<[user |-> client.user, client_id |-> None],
      [user |-> client.user, client_id |-> client.client_id],
      [user |-> client.user, client_id |-> Default],
      [user |-> Default, client_id |-> None],
      [user |-> Default, client_id |-> client.client_id],
      [user |-> Default, client_id |-> Default],
      [user |-> None, client_id |-> client.client_id],
      [user |-> None, client_id |-> Default]>>
=============================================================================
