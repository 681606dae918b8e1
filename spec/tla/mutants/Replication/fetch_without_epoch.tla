------------------------ MODULE fetch_without_epoch -------------------------
(* A leader answers every fetch, whatever epoch it is of (before KIP-320).   *)
EXTENDS Replication

WrongIsAnswered(f, l) == IsLeading(l) /\ replicas[f].leader = l
=============================================================================
