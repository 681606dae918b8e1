----------------------- MODULE resume_at_newer_server -----------------------
(* A client goes to a server that has more than it has seen, and to no other.*)
EXTENDS ZkWatches

WrongMayServe(version) == version > client.seen_version
=============================================================================
