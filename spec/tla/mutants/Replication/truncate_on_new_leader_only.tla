-------------------- MODULE truncate_on_new_leader_only ---------------------
(* A follower of the same leader goes on fetching under the new epoch.       *)
EXTENDS Replication

WrongMayFetchAtOnce(b) == IsFetching(b) /\ replicas[b].leader = replicas'[b].leader
=============================================================================
