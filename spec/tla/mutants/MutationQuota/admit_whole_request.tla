------------------------ MODULE admit_whole_request -------------------------
(* A request is admitted as one, with all its topics.                        *)
EXTENDS MutationQuota

WrongUnits == {n * Topics : n \in Sizes}
=============================================================================
