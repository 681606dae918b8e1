-------------------------- MODULE fetcher_goes_on ---------------------------
(* A change of role does not stop the fetcher.                               *)
EXTENDS Replication

WrongAnswersAfterRoleChange(b) == fetches
=============================================================================
