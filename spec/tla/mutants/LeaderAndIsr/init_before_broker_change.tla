--------------------- MODULE init_before_broker_change ----------------------
(* A new controller tells the state as it stands before it decides (V3 D).   *)
EXTENDS LeaderAndIsr

WrongToldFirst == CurrentState
=============================================================================
