------------------------- MODULE never_stands_again -------------------------
(* A controller that resigns never stands for election again.                *)
EXTENDS LeaderAndIsr

WrongAfterOffice == [IdleController EXCEPT !.status = "retired"]
=============================================================================
