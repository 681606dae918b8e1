--------------------- MODULE ignore_min_insync_replicas ---------------------
(* A produce is taken and acknowledged under any ISR.                        *)
EXTENDS Replication

WrongHasEnoughReplicas(l) == TRUE
=============================================================================
