----------------------- MODULE fetch_from_any_leader ------------------------
(* A follower fetches from whoever leads under its epoch or another.       *)
EXTENDS Fencing

WrongIsFetching(f, l) == f # l /\ replicas[f].role = "follower" /\ IsLeading(l)
=============================================================================
