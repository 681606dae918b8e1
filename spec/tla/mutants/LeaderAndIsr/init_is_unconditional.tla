----------------------- MODULE init_is_unconditional ------------------------
(* A controller that takes over does its predecessor's first decision once   *)
(* more.                                                                     *)
EXTENDS LeaderAndIsr

WrongIsUninitialised(c) ==
    Exists(znodes, StatePath) => State.controller_epoch < controllers[c].controller_epoch
WrongVersionBeforeInit == IF Exists(znodes, StatePath) THEN StateVersion ELSE NoVersion
=============================================================================
