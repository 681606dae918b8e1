-------------------------- MODULE TraceAssignment ---------------------------
(* Which brokers have a replica of the partition, as the topic znode says:   *)
(* it is added, moves, and is removed. `Replication` has one assignment; a   *)
(* write of the state is an election of it all the same, and a replica that  *)
(* is given up a log that begins anew. What is demanded beside that are the  *)
(* rules of `Reassignment` and `Partitions` on the past that the replay      *)
(* keeps: a controller decides on a version of the topic znode that it may   *)
(* have read, and its write is on that version and on the request.           *)
EXTENDS TraceLoss

VARIABLES
    assignments,    \* what the topic znode said of the partition, by version: [assigned, adding, removing]
    standing,       \* the requests about it that stand: [kind, replicas]
    ever_asked,     \* all that there were
    ended,          \* those that went with the last transaction that ended any: [zxid, request]
    plans,          \* per controller what it may be about to write: [basis, assignment, requests,
                    \* has_state], on the version before `basis`
    parting         \* the brokers that were told to give it up since they were assigned

assignment_vars == <<assignments, standing, ever_asked, ended, plans, parting>>

AssignmentInit ==
    /\ assignments = <<>>
    /\ standing = {}
    /\ ever_asked = {}
    /\ ended = {}
    /\ plans = [c \in Controllers |-> {}]
    /\ parting = {}

Members(replicas_in_order) == {replicas_in_order[i] : i \in DOMAIN replicas_in_order}

NoAssignment == [assigned |-> <<>>, adding |-> {}, removing |-> {}]
Assignment == IF assignments = <<>> THEN NoAssignment ELSE assignments[Len(assignments)]
Assigned == Members(Assignment.assigned)
WasAssigned(replicas_in_order) ==
    \E i \in DOMAIN assignments : assignments[i].assigned = replicas_in_order

ToldAssignment ==
    [assigned |-> Event.assigned, adding |-> Event.adding, removing |-> Event.removing]

-----------------------------------------------------------------------------
(* Moves *)

(* Where the partition was, is to be, and is meanwhile (REAS-003, REAS-004). *)
(* A target is <<>> without a request.                                       *)
Settled(a) == SelectSeq(a.assigned, LAMBDA b : b \notin a.adding)
Wanted(a, target) == IF target = <<>> THEN Settled(a) ELSE target[1]
OldAndNew(a, target) ==
    Settled(a) \o SelectSeq(Wanted(a, target), LAMBDA b : b \notin Members(Settled(a)))

Reassigned(a, to, adding) ==
    [assigned |-> to, adding |-> adding,
     removing |-> (a.removing \cup Members(a.assigned)) \ Members(to)]

(* Old and new replicas first; the target when it is in the ISR (REAS-005).  *)
Advances(a, target, isr) ==
    LET both == OldAndNew(a, target)
        wanted == Members(Wanted(a, target))
        bootstraps == Members(a.assigned) # Members(both)
        switches == Members(both) # wanted \/ a.adding # {}
    IN IF bootstraps
       THEN {[assignment |-> Reassigned(a, both, wanted \ Members(Settled(a))),
              isr |-> isr \cap Members(both)]}
       ELSE IF switches /\ wanted \subseteq isr
       THEN {[assignment |-> Reassigned(a, Wanted(a, target), {}), isr |-> wanted]}
       ELSE {}

Requests(kind) == {request \in ever_asked : request.kind = kind}
Moving == "partitions_reassigned"
Targets == {<<>>} \cup {<<request.replicas>> : request \in Requests(Moving)}
Requested(target) ==
    IF target = <<>> THEN {} ELSE {[kind |-> Moving, replicas |-> target[1]]}

Plan(basis, assignment, on, has_state) ==
    [basis |-> basis, assignment |-> assignment, requests |-> on, has_state |-> has_state]

AdvancePlans(isr) ==
    UNION {{Plan(i, step.assignment, Requested(target), TRUE) :
                step \in {step \in Advances(assignments[i], target, isr) :
                            /\ step.isr = Event.isr
                            /\ step.assignment.assigned = Event.assigned_replicas}} :
            i \in DOMAIN assignments, target \in Targets}

(* All that are to give it up, and live, were told and have.                 *)
HaveGone(c) ==
    (Brokers \ controllers[c].live_brokers) \cup
        {b \in parting : Records(b) = <<>> /\ replicas[b].role \notin {"leader", "fenced", "follower"}}

CompletePlans(gone) ==
    {Plan(i, [NoAssignment EXCEPT !.assigned = Event.assigned_replicas], Requested(target), FALSE) :
        i \in {i \in DOMAIN assignments : LET a == assignments[i] IN
                /\ Members(a.assigned) = Members(Event.assigned_replicas)
                /\ a.adding = {}
                /\ a.removing \subseteq gone},
        target \in {target \in Targets :
            target # <<>> => target[1] = Event.assigned_replicas}}

-----------------------------------------------------------------------------
(* Partitions of a topic *)

(* The topic names the partition first, and the request goes when it is led. *)
AddPlans ==
    IF Event.assigned_replicas = <<>>
    THEN {Plan(i, assignments[i], {request}, FALSE) :
            i \in {i \in DOMAIN assignments : assignments[i].assigned # <<>> /\ past # <<>>},
            request \in Requests("partitions_add")}
    ELSE {Plan(i, [NoAssignment EXCEPT !.assigned = request.replicas], {request}, FALSE) :
            i \in {i \in DOMAIN assignments : assignments[i].assigned = <<>>},
            request \in {request \in Requests("partitions_add") :
                            request.replicas = Event.assigned_replicas}}

(* The topic names it no more, and its state goes in the same multi.         *)
RemovePlans ==
    {Plan(i, Reassigned(assignments[i], <<>>, {}), {request}, FALSE) :
        i \in {i \in DOMAIN assignments : assignments[i].assigned # <<>>},
        request \in Requests("partitions_remove")}

-----------------------------------------------------------------------------
(* What is written *)

(* The request stands, or goes in the same transaction; it goes with the end *)
(* of its move.                                                              *)
HasEnded(request) == [zxid |-> Event.zxid, request |-> request] \in ended
Stands(request) == request \in standing \/ HasEnded(request)
IsEnd(plan) == ~plan.has_state /\ \E request \in plan.requests : request.kind = Moving

(* It was decided on the version that is there, and on requests that stand.  *)
IsPlanned(c, has_state) ==
    /\ c \in Controllers
    /\ Metadata!Apply(Metadata!Fence(c)).ok
    /\ \E plan \in plans[c] :
          /\ plan.basis = Len(assignments)
          /\ plan.assignment = ToldAssignment
          /\ plan.has_state = has_state
          /\ \A request \in plan.requests :
                IF IsEnd(plan) THEN HasEnded(request) ELSE Stands(request)

(* A step of a move changes state and topic together.                        *)
IsMoving(c) == c \in Controllers /\ \E plan \in plans[c] : plan.has_state

Replaced(request) == {other \in standing : other.kind = request.kind}
ToldRequest == [kind |-> Event.kind, replicas |-> Event.replicas]

AssignmentsNext ==
    CASE Is("ZkCreateTopic") -> <<ToldAssignment>>
      [] Event.action \in {"ZkAssign", "ZkMove"} -> Append(assignments, ToldAssignment)
      [] OTHER -> assignments

StandingNext ==
    IF Is("ZkRequest")
    THEN (standing \ Replaced(ToldRequest)) \cup (IF Event.is_there THEN {ToldRequest} ELSE {})
    ELSE standing

EndedNext ==
    IF Is("ZkRequest") /\ ~Event.is_there
    THEN {one \in ended : one.zxid = Event.zxid}
            \cup {[zxid |-> Event.zxid, request |-> request] : request \in Replaced(ToldRequest)}
    ELSE ended

PlansNext ==
    CASE Is("AdvanceReassignment") ->
            [plans EXCEPT ![Event.broker_id] = AdvancePlans(PastState(Event.expected_version).isr)]
      [] Is("CompleteReassignment") -> [plans EXCEPT ![Event.broker_id] = CompletePlans(HaveGone(Event.broker_id))]
      [] Is("AddPartitions") -> [plans EXCEPT ![Event.broker_id] = AddPlans]
      [] Is("RemovePartitions") -> [plans EXCEPT ![Event.broker_id] = RemovePlans]
      [] Event.action \in {"InitLeader", "ElectLeader"} ->
            [plans EXCEPT ![Event.broker_id] = {plan \in @ : ~plan.has_state}]
      [] OTHER -> plans

PartingNext ==
    CASE Is("SendStopReplica") /\ Event.is_own -> parting \cup {Event.peer}
      [] Event.action \in {"ZkAssign", "ZkMove"} -> parting \ Members(Event.assigned)
      [] OTHER -> parting

AssignmentStep ==
    /\ assignments' = AssignmentsNext
    /\ standing' = StandingNext
    /\ ever_asked' = ever_asked \cup (standing' \ standing)
    /\ ended' = EndedNext
    /\ plans' = PlansNext
    /\ parting' = PartingNext
=============================================================================
