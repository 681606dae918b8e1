------------------- MODULE notification_waits_for_request -------------------
(* A server keeps a notification until the client is about to ask.           *)
EXTENDS ZkWatches

WrongMayNotify == client.is_connected /\ client.must_read
=============================================================================
