------------------------ MODULE remember_end_offsets ------------------------
(* A leader goes on with what followers held under another epoch.            *)
EXTENDS Replication

WrongOffsetsAfterRoleChange(end_offsets) == end_offsets
=============================================================================
