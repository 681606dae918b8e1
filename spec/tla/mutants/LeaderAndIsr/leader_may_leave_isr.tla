------------------------ MODULE leader_may_leave_isr ------------------------
(* A leader that finds itself lagging leaves the ISR.                        *)
EXTENDS LeaderAndIsr

WrongMayDrop(b, f) == TRUE
=============================================================================
