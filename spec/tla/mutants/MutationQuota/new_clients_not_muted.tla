----------------------- MODULE new_clients_not_muted ------------------------
(* A client that was told how long to wait is trusted to do so: only         *)
(* connections of old clients are muted.                                     *)
EXTENDS MutationQuota

WrongIsMutedWhenTold(c) == c \in OldClients
=============================================================================
