------------------------- MODULE depose_live_leader -------------------------
(* An election passes the leader over, though it lives.                    *)
EXTENDS Fencing

WrongCurrentMembers ==
    {member \in State.isr : IsCurrent(member, controller.view) /\ member.broker # State.leader}
=============================================================================
