---------------------- MODULE commands_without_epochs -----------------------
(* A broker obeys every command that it gets.                                *)
EXTENDS LeaderAndIsr

WrongIsCurrent(b, m) == TRUE
=============================================================================
