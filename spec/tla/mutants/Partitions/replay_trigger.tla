--------------------------- MODULE replay_trigger ---------------------------
(* A new controller that finds a request does all of it again, the first     *)
(* state too (V3).                                                           *)
EXTENDS Partitions

WrongIsUninitialised(c) ==
    ~HasState \/ (Exists(znodes, AddPath) /\ ~controllers[c].is_initialised)
WrongFirstStateWrite(state) ==
    IF HasState THEN SetDataOp(StatePath, state, AnyVersion)
    ELSE CreateOp(StatePath, state, NoSession)
WrongOnceInitialised(controller) == [controller EXCEPT !.is_initialised = TRUE]
WrongIsAdded(c) == Topic.is_assigned => HasState /\ controllers[c].is_initialised
=============================================================================
