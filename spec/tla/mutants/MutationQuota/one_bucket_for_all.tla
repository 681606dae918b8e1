------------------------- MODULE one_bucket_for_all -------------------------
(* All clients take from one bucket.                                         *)
EXTENDS MutationQuota

WrongBucketOf(c) == CHOOSE other \in Clients : \A another \in Clients : other <= another
=============================================================================
