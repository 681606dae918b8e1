------------------------ MODULE LeaderAndIsrReached -------------------------
(* What must be possible in `LeaderAndIsr`, so that no rule is kept by       *)
(* nothing ever happening.                                                   *)
EXTENDS LeaderAndIsr

(* The leader that ZooKeeper names leads with what ZooKeeper holds.          *)
IsServed ==
    /\ Exists(znodes, StatePath)
    /\ State.leader # NoBroker
    /\ IsActingLeader(State.leader)
    /\ replicas[State.leader].isr = State.isr
    /\ replicas[State.leader].znode_version = StateVersion

IsFollowed ==
    IsServed /\ \A b \in Brokers \ {State.leader} :
        replicas[b].leader = State.leader /\ replicas[b].leader_epoch = State.leader_epoch

(* From nothing: a topic gets its first leader, and all brokers obey.        *)
FirstLeaderServes == IsFollowed /\ State.leader_epoch = 0

(* An election takes the leader away, or leaves it and takes a member.       *)
SuccessorServes == IsFollowed /\ State.leader_epoch > 0 /\ State.leader # FirstLeader
LeaderServesOn == IsFollowed /\ State.leader_epoch > 0 /\ State.leader = FirstLeader
TwoBrokersLead == \E b, other \in Brokers : b # other /\ IsLeading(b) /\ IsLeading(other)

(* No member is there: all are told, and one that comes back leads alone.    *)
PartitionWaits ==
    /\ Exists(znodes, StatePath)
    /\ State.leader = NoBroker
    /\ \A b \in Brokers : replicas[b].leader_epoch = State.leader_epoch
WaitIsOver == IsServed /\ State.leader_epoch > 1 /\ State.isr = {State.leader}

(* A broker outside the ISR leads.                                           *)
OutsiderLeads == IsFollowed /\ State.leader \notin InitialIsr

(* A broker that starts knows the state, and obeys what is sent anew.        *)
StartedBrokerKnows ==
    \E b \in Brokers : replicas[b].role = "idle" /\ replicas[b].znode_version # NoVersion

(* The leader changes its ISR, and is refused when it does so too late.      *)
MemberLeaves == IsServed /\ State.leader_epoch = 0 /\ ~(InitialIsr \subseteq State.isr)
MemberJoins == IsServed /\ State.leader_epoch = 0 /\ ~(State.isr \subseteq InitialIsr)
LeaderIsFenced == \E b \in Brokers : replicas[b].role = "fenced"

(* What was written is found after a lost reply; what was lost is written    *)
(* once more.                                                                *)
OwnWriteIsFound ==
    \E b \in Brokers :
        /\ IsLeading(b) /\ replicas[b].pending_isr # <<>> /\ replicas[b].is_reply_lost
        /\ IsOwnWrite(WantedState(b), replicas[b].znode_version)
LostWriteIsRepeated ==
    \E b \in Brokers :
        /\ IsLeading(b) /\ replicas[b].pending_isr # <<>> /\ replicas[b].is_reply_lost
        /\ IsrWrite(b).ok
OwnDecisionIsFound ==
    \E c \in Controllers : controllers[c].is_reply_lost
        /\ IsOwnWrite(controllers[c].decision[1].state,
                      controllers[c].decision[1].expected_version)
LostDecisionIsDecidedAnew ==
    \E c \in Controllers : controllers[c].is_reply_lost /\ DecisionWrite(c).ok

(* Another controller decides; the deposed one has a decision left, and      *)
(* commands that come late.                                                  *)
SuccessorDecides == IsFollowed /\ State.controller_epoch > 1
ZombieDecides ==
    \E c \in Controllers : controllers[c].status = "active" /\ IsDeposed(c)
        /\ controllers[c].decision # <<>>
DeposedSenderIsRefused ==
    \E m \in messages : IsHeard(m.to, m) /\ IsOlderController(m.to, m) /\ IsNewer(m.to, m)
DeposedControllerResigns ==
    /\ CurrentControllerEpoch > 1
    /\ \E c \in Controllers : InOffice(c)
    /\ \A c \in Controllers : InOffice(c) \/ controllers[c].status = "standing"

(* Commands of two controllers are on their way to one broker.               *)
TwoControllersTell == \E m, other \in messages : m.from # other.from /\ m.to = other.to

(* A command is repeated, also after it was obeyed.                          *)
RepeatedCommandIsRefused == \E m \in messages : m.copy = 2 /\ IsHeard(m.to, m) /\ ~IsNewer(m.to, m)
=============================================================================
