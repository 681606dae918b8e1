-------------------------- MODULE old_clients_free --------------------------
(* A client that cannot be refused costs nothing.                            *)
EXTENDS MutationQuota

WrongCharge(c, partitions) == IF c \in OldClients THEN 0 ELSE partitions * Cost
=============================================================================
