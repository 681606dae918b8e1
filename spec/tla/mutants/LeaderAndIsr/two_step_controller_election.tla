-------------------- MODULE two_step_controller_election --------------------
(* A controller creates /controller first and raises the epoch later.        *)
EXTENDS LeaderAndIsr

CreateController(c) ==
    LET written == Apply(<<CreateOp(ControllerPath, <<>>, c)>>)
    IN /\ controllers[c].status = "standing"
       /\ written.ok
       /\ znodes' = written.tree
       /\ controllers' = [controllers EXCEPT ![c].status = "created"]

RaiseEpochLater(c) ==
    LET written == Apply(<<SetDataOp(ControllerEpochPath, RaisedControllerEpoch, AnyVersion)>>)
    IN /\ controllers[c].status = "created"
       /\ znodes' = written.tree
       /\ controllers' = [controllers EXCEPT ![c] = Activated(RaisedControllerEpoch)]

WrongElectInOneMulti(c) == CreateController(c) \/ RaiseEpochLater(c)
=============================================================================
