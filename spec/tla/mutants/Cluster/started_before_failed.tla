----------------------- MODULE started_before_failed ------------------------
(* A state is told to a leader that bounced, before the bounce is decided.   *)
EXTENDS Cluster

WrongIsTellable(c, told) == TRUE
=============================================================================
