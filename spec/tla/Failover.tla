------------------------------ MODULE Failover ------------------------------
(* What happens after a broker died: its session ends, with it its           *)
(* registration, and the controller decides anew. `LeaderAndIsr` counts the  *)
(* end of a session as a fault, of a live broker as of a dead one; here that *)
(* of a dead one comes by itself, as ZooKeeper promises.                     *)
EXTENDS LeaderAndIsrSteps

(* ZooKeeper hears nothing of a process that is down, or that has begun anew *)
(* and has not registered: the session of the one before is over some day.   *)
IsDead(b) == replicas[b].role \in {"down", "starting"}

EndDeadSession(b) ==
    /\ IsDead(b)
    /\ Exists(znodes, BrokerPath(b))
    /\ znodes' = [znodes EXCEPT ![BrokerPath(b)] = Absent]
    /\ UNCHANGED <<controllers, replicas, messages, budget, breaches>>

EndOfTheDead == \E b \in Brokers : EndDeadSession(b)

FailoverSpec ==
    /\ Init
    /\ [][Next \/ EndOfTheDead]_metadata_vars
    /\ WF_metadata_vars(Healing)
    /\ WF_metadata_vars(EndOfTheDead)

-----------------------------------------------------------------------------
(* A member of the ISR works, and none has come back of which nothing is     *)
(* told: the controller does not see one that was away between two looks     *)
(* (that takes broker epochs, see `Fencing`).                                *)
HasSurvivor == \E b \in State.isr : replicas[b].role \in {"leader", "follower", "fenced"}
IsNoneUntold == \A b \in Brokers : replicas[b].role \notin {"starting", "idle"}

(* A broker that works keeps its registration as long as no fault ends it.   *)
\* @req START-001
LivingKeepSessions ==
    [][\A b \in Brokers : Exists(znodes, BrokerPath(b)) /\ ~Exists(znodes', BrokerPath(b)) =>
        \/ replicas[b].role \notin {"idle", "follower", "leader", "fenced"}
        \/ budget'["expiries"] < budget["expiries"]]_metadata_vars

(* A dead leader is replaced by a member of the ISR that lives, for good.    *)
\* @req FAIL-001
\* @req FAIL-008
FailoverCompletes == <>[](HasSurvivor /\ IsNoneUntold) => EventuallyLeader

(* And the ISR holds none that is dead, so that what is written is committed.*)
\* @req FAIL-001
DeadLeaveIsr ==
    <>[](HasSurvivor /\ IsNoneUntold) =>
        <>[](\A b \in State.isr : replicas[b].role # "down")

-----------------------------------------------------------------------------
(* What must be possible: the broker that died comes back and follows, or    *)
(* leads again where its place was not taken.                                *)
HasCrashed == budget["crashes"] < Limits["crashes"]
DeadFollows == HasCrashed /\ IsFollowed /\ State.leader # FirstLeader
DeadLeadsAgain ==
    HasCrashed /\ IsFollowed /\ State.leader = FirstLeader /\ State.leader_epoch = 0
=============================================================================
