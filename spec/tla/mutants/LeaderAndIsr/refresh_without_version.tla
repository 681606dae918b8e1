---------------------- MODULE refresh_without_version -----------------------
(* A broker obeys any command of its leader epoch that has another version.  *)
EXTENDS LeaderAndIsr

WrongIsFirstOfKnownEpoch(b, m) ==
    /\ m.leader_epoch = replicas[b].leader_epoch
    /\ \/ m.znode_version # replicas[b].znode_version
       \/ replicas[b].role = "idle"
=============================================================================
