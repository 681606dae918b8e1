---------------------- MODULE leader_epoch_not_raised -----------------------
(* A decision leaves the leader epoch as it is, and brokers obey the command *)
(* with the larger version.                                                  *)
EXTENDS LeaderAndIsr

WrongRaisedLeaderEpoch == State.leader_epoch
WrongIsOfNewEpoch(b, m) ==
    \/ m.leader_epoch > replicas[b].leader_epoch
    \/ m.znode_version > replicas[b].znode_version
=============================================================================
