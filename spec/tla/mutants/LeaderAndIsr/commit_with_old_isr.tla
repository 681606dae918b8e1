------------------------ MODULE commit_with_old_isr -------------------------
(* A commit waits for the ISR alone, while another one is asked for.         *)
EXTENDS LeaderAndIsr

WrongAskedIsr(b) == {}
=============================================================================
