---------------------- MODULE write_assignment_creates ----------------------
(* An assignment is created where there is none, by a write that looks for no*)
(* id.                                                                       *)
EXTENDS TopicLifecycle

SetOrCreate(path, data) ==
    IF Exists(znodes, path) THEN SetDataOp(path, data, AnyVersion)
    ELSE CreateOp(path, data, NoSession)

WrongAssignmentWrite == SetOrCreate(TopicPath, <<>>)
WrongDecisionCheck(decision) ==
    IF decision.write = "assignment" THEN <<>> ELSE IdCheck(decision.incarnation)
=============================================================================
