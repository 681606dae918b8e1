---------------------- MODULE fetch_before_truncation -----------------------
(* A follower fetches before it has cut its log.                           *)
EXTENDS Cluster

WrongIsFetching(f, p) == replicas[f][p].role = "follower"
=============================================================================
