------------------------ MODULE take_role_from_read -------------------------
(* A broker that starts follows the leader that it reads.                  *)
EXTENDS Cluster

WrongStartedReplica(p) ==
    [NoReplica EXCEPT
        !.role = "follower", !.incarnation = CurrentTopic,
        !.leader = IF HasState(p) THEN State(p).leader ELSE NoBroker,
        !.leader_epoch = IF HasState(p) THEN State(p).leader_epoch ELSE NoEpoch,
        !.version = IF HasState(p) THEN StateVersion(p) ELSE NoVersion]
=============================================================================
