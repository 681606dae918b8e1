----------------------- MODULE init_is_unconditional ------------------------
(* A controller initialises every topic that is new to it, and after a       *)
(* failover all of them are (V3).                                            *)
EXTENDS TopicLifecycle

SetOrCreate(path, data) ==
    IF Exists(znodes, path) THEN SetDataOp(path, data, AnyVersion)
    ELSE CreateOp(path, data, NoSession)

WrongIsUninitialised == TRUE
WrongFirstStateWrite(state) == SetOrCreate(StatePath, state)
=============================================================================
