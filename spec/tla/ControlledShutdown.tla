-------------------------- MODULE ControlledShutdown --------------------------
(* A broker that is to end asks the controller first, which lets others lead *)
(* what it led and takes it out of the ISR, as long as another member could *)
(* lead (BEP-005). The request names the registration that ends: any number *)
(* of late copies of it may arrive when the broker has started again.       *)
(* `Fencing` has everything else.                                           *)
EXTENDS Fencing

VARIABLES
    requests,       \* ControlledShutdown in flight; what is taken stays, to arrive again
    shutting_down,  \* the brokers that the controller lets go
    is_move_due,    \* the controller has yet to decide without them
    asked           \* history: per broker the last epoch under which it asked, 0 if it never did

shutdown_vars == <<vars, requests, shutting_down, is_move_due, asked>>

ShutdownInit ==
    /\ Init
    /\ requests = {}
    /\ shutting_down = {}
    /\ is_move_due = FALSE
    /\ asked = [b \in Brokers |-> 0]

-----------------------------------------------------------------------------
(* The broker                                                               *)

NamedEpoch(b) == replicas[b].broker_epoch

(* An operator wants it to end: it tells the controller its own epoch. Its   *)
(* session may have ended, which it does not know yet.                       *)
AskShutdown(b) ==
    LET own == replicas[b].broker_epoch
    IN /\ IsUp(b)
       /\ asked[b] # own
       /\ Spend("shutdowns")
       /\ requests' = requests \cup {[broker |-> b, broker_epoch |-> NamedEpoch(b)]}
       /\ asked' = [asked EXCEPT ![b] = own]
       /\ UNCHANGED <<znodes, zxid, controller, replicas, messages, history, shutting_down,
                      is_move_due>>

OnceLeft(b) == [znodes EXCEPT ![BrokerPath(b)] = Absent]

(* It waits for the controller, or not: no answer may come. Its log stays,   *)
(* and its registration goes at once.                                        *)
LeaveCluster(b) ==
    /\ IsUp(b)
    /\ asked[b] = replicas[b].broker_epoch
    /\ replicas' = [replicas EXCEPT ![b] = StoppedReplica(@)]
    /\ znodes' = OnceLeft(b)
    /\ UNCHANGED <<zxid, controller, messages, budget, history, requests, shutting_down,
                   is_move_due, asked>>

-----------------------------------------------------------------------------
(* The controller                                                           *)

(* A smaller epoch is of a registration that is over; a larger one is of one *)
(* that the controller has yet to hear of, and comes again.                 *)
IsOfKnownRegistration(m) == m.broker_epoch = controller.view[m.broker]

(* Of each broker that is let go a decision is due.                         *)
IsOwed == TRUE

ObeyShutdown ==
    /\ \E m \in requests :
          /\ IsOfKnownRegistration(m)
          /\ m.broker \notin shutting_down
          /\ shutting_down' = shutting_down \cup {m.broker}
    /\ is_move_due' = IsOwed
    /\ UNCHANGED <<vars, requests, asked>>

(* The members that go on leave those behind that are shutting down; none of *)
(* them if no other could lead.                                             *)
StayingMembers == {member \in CurrentMembers : member.broker \notin shutting_down}
MoveLeader ==
    LET ids == MemberIds(StayingMembers)
    IN /\ is_move_due
       /\ is_move_due' = FALSE
       /\ \E member \in CurrentMembers : member.broker \in shutting_down
       /\ ids # {}
       /\ \E b \in (IF State.leader \in ids THEN {State.leader} ELSE ids) :
            Publish([State EXCEPT !.leader = b, !.leader_epoch = @ + 1,
                                  !.isr = StayingMembers], FALSE)
       /\ UNCHANGED <<requests, shutting_down, asked>>

(* Of a broker that came, went or came back nothing is known any more.      *)
SeenToChange == {b \in Brokers : controller'.view[b] # controller.view[b]}
LookAgain ==
    /\ DetectBrokerChange
    /\ shutting_down' = shutting_down \ SeenToChange
    /\ is_move_due' = (is_move_due /\ shutting_down' # {})
    /\ UNCHANGED <<requests, asked>>

(* The next controller is asked again.                                      *)
Succeed ==
    /\ ElectController
    /\ shutting_down' = {}
    /\ is_move_due' = FALSE
    /\ UNCHANGED <<requests, asked>>

-----------------------------------------------------------------------------
OtherSteps ==
    \/ \E b \in Brokers : CrashBroker(b)
    \/ \E b \in Brokers : ExpireSession(b)
    \/ \E b \in Brokers : RegisterBroker(b)
    \/ ElectLeader
    \/ SendLeaderAndIsr
    \/ \E b \in Brokers : BecomeLeader(b)
    \/ \E b \in Brokers : BecomeFollower(b)
    \/ \E l \in Brokers : LeaderAppend(l)
    \/ \E f \in Brokers : FollowerAppend(f)
    \/ \E f \in Brokers : TruncateLog(f)
    \/ \E l, f \in Brokers : ServeFetch(l, f)
    \/ \E l \in Brokers : AdvanceHighWatermark(l)
    \/ \E l, f \in Brokers : ExpandIsr(l, f)

ShutdownNext ==
    \/ OtherSteps /\ UNCHANGED <<requests, shutting_down, is_move_due, asked>>
    \/ \E b \in Brokers : AskShutdown(b)
    \/ \E b \in Brokers : LeaveCluster(b)
    \/ ObeyShutdown
    \/ MoveLeader
    \/ LookAgain
    \/ Succeed

-----------------------------------------------------------------------------
ShutdownTypeOK ==
    /\ TypeOK
    /\ shutting_down \subseteq Brokers
    /\ is_move_due \in BOOLEAN
    /\ asked \in [Brokers -> 0 .. zxid]
    /\ \A m \in requests : m.broker \in Brokers /\ m.broker_epoch \in 1 .. zxid

(* A broker that the controller lets go has asked for it under its present  *)
(* registration, if the controller knows that one.                          *)
\* @req BEP-005
OnlyAskersShutDown ==
    \A b \in shutting_down : controller.view[b] = incarnations[b] => asked[b] = incarnations[b]

(* A process that ends without a crash is gone from the cluster at once.     *)
\* @req BEP-005
LeavesAtOnce ==
    [][\A b \in Brokers : IsUp(b) /\ replicas'[b].role = "down" /\ UNCHANGED budget =>
        /\ znodes'[BrokerPath(b)] = Absent
        /\ asked[b] = replicas[b].broker_epoch]_shutdown_vars

(* And a registration that goes is that of a process that has ended, or has  *)
(* lost its session.                                                         *)
\* @req BEP-005
RegistrationsEnd ==
    [][\A b \in Brokers : Registrations[b] # 0 /\ znodes'[BrokerPath(b)] = Absent =>
        replicas'[b].role = "down" \/ budget'["expiries"] < budget["expiries"]]_shutdown_vars

(* A running process asks once, for the registration that it has.            *)
\* @req BEP-005
RequestsNameRegistrations ==
    [][budget'["shutdowns"] < budget["shutdowns"] \/ <<requests, asked>>' # <<requests, asked>> =>
        \E b \in Brokers :
            /\ replicas[b].role # "down"
            /\ requests' \ requests = {[broker |-> b, broker_epoch |-> incarnations[b]]}
            /\ requests \subseteq requests'
            /\ asked' = [asked EXCEPT ![b] = incarnations[b]]]_shutdown_vars

(* The controller owes a decision to each broker that it lets go, once, and  *)
(* lets it go until it sees the broker come or leave.                        *)
\* @req BEP-005
MovesAreDue ==
    [][LET let_go == shutting_down' \ shutting_down
           is_succeeded == budget'["controller_changes"] < budget["controller_changes"]
       IN /\ is_move_due' /\ ~is_move_due => let_go # {}
          /\ let_go # {} => is_move_due'
          /\ is_move_due /\ ~is_move_due' =>
                shutting_down' = {} \/ znodes'[StatePath] # znodes[StatePath]
          /\ shutting_down' = {} => ~is_move_due'
          /\ IF is_succeeded THEN shutting_down' = {}
             ELSE \A b \in shutting_down \ shutting_down' : controller'.view[b] # controller.view[b]
      ]_shutdown_vars

(* A decision that was due takes those out of the ISR that are shutting down,*)
(* and any other one only those that are gone; a leader that stays a member  *)
(* stays leader.                                                             *)
\* @req BEP-005
MembersLeaveForReasons ==
    [][LET next == znodes'[StatePath].data
           gone == {m \in State.isr : controller.view[m.broker] # m.broker_epoch}
           going == {m \in State.isr : m.broker \in shutting_down}
           is_moved == is_move_due /\ ~is_move_due'
       IN (next.leader_epoch # State.leader_epoch /\ (is_moved \/ State.isr # gone)) =>
            /\ next.isr = State.isr \ (IF is_moved THEN gone \cup going ELSE gone)
            /\ next.leader \in MemberIds(next.isr)
            /\ State.leader \in MemberIds(next.isr) => next.leader = State.leader
            /\ is_moved => next.isr # State.isr]_shutdown_vars

-----------------------------------------------------------------------------
(* What must be possible                                                    *)

(* Others lead while the broker that asked still runs.                      *)
OthersLeadFirst ==
    \E b \in shutting_down :
        /\ IsUp(b)
        /\ State.leader \notin {b, NoBroker}
        /\ b \notin MemberIds(State.isr)
        /\ IsActing(State.leader)

(* The last member leads on while it is shutting down.                      *)
LastReplicaStays ==
    /\ shutting_down = Brokers
    /\ State.leader # NoBroker
    /\ IsActing(State.leader)

(* A copy arrives when its broker has started again, and is not for it.     *)
LateRequestIsRefused ==
    \E m \in requests :
        /\ IsUp(m.broker)
        /\ replicas[m.broker].broker_epoch > m.broker_epoch
        /\ controller.view[m.broker] = replicas[m.broker].broker_epoch
        /\ ~IsOfKnownRegistration(m)
=============================================================================
