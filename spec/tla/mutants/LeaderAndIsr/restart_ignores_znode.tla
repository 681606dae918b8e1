----------------------- MODULE restart_ignores_znode ------------------------
(* A starting broker does not read the state of its partition.               *)
EXTENDS LeaderAndIsr

WrongIsStateRead == FALSE
=============================================================================
