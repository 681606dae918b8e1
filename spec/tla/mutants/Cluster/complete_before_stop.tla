------------------------ MODULE complete_before_stop ------------------------
(* What is to be stopped is forgotten before it was told.                    *)
EXTENDS Cluster

WrongAreStopsSent(c, p) == TRUE
=============================================================================
