------------------------ MODULE leader_may_leave_isr ------------------------
(* A leader drops itself from the ISR.                                       *)
EXTENDS TopicLifecycle

WrongDispensable(b) == replicas[b].isr
=============================================================================
