------------------------ MODULE bucket_of_the_quota -------------------------
(* A quota has one bucket, and a default one for all that it applies to.     *)
EXTENDS QuotaPrecedence

WrongBucket(client) == Applied(client)
=============================================================================
