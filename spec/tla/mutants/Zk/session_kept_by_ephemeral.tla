--------------------- MODULE session_kept_by_ephemeral ----------------------
(* A session does not end as long as it has an ephemeral.                    *)
EXTENDS Zk

WrongIsSilent(session_id) ==
    \A path \in Paths : znodes[path].ephemeral_owner # session_id
=============================================================================
