-------------------- MODULE two_step_controller_election --------------------
(* The winner creates /controller, and raises the epoch and begins its term  *)
(* later, whatever happened meanwhile.                                       *)
EXTENDS ControllerElection

CreateFirst(b) ==
    LET written == Apply(TakeOffice(b))
    IN /\ candidates[b].status = "standing"
       /\ written.ok
       /\ znodes' = written.tree
       /\ candidates' = [candidates EXCEPT ![b].status = "created"]
       /\ IsElected(b)
       /\ UNCHANGED <<terms, heard>>

RaiseLater(b) ==
    LET written == Apply(<<RaiseEpoch, BeginTerm(b)>>)
    IN /\ candidates[b].status = "created"
       /\ znodes' = written.tree
       /\ InOffice(b, RaisedEpoch, written.tree[ControllerEpochPath].version)
       /\ UNCHANGED elected

WrongElects(b) == CreateFirst(b) \/ RaiseLater(b)
=============================================================================
