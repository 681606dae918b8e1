------------------------ MODULE server_stays_behind -------------------------
(* A server learns of a change only with the one after it.                   *)
EXTENDS ZkWatches

WrongMayCatchUp == client.is_connected /\ server_version + 1 < CurrentVersion
=============================================================================
