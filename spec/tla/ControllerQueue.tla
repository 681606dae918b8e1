-------------------------- MODULE ControllerQueue ---------------------------
(* What the controller mutation quota is for (KIP-599): the controller       *)
(* handles its events one after the other, a created partition is an event,  *)
(* and an election waits behind all that was admitted before it.             *)
(*                                                                           *)
(* In a tick the controller handles `Speed` events. Time does not pass while *)
(* it could still work: what is slow here is slow because of the queue. The  *)
(* bucket is that of `MutationQuota`, with one client that never rests.      *)
EXTENDS Integers, Sequences

CONSTANTS
    Rate,               \* partitions per tick that the quota allows
    Burst,              \* partitions that a bucket keeps
    Speed,              \* events that the controller handles in a tick
    Sizes,              \* partitions of one topic
    ElectionBudget,     \* ticks that an election may wait
    Limits              \* how often each bounded thing may happen

VARIABLES
    tokens,             \* of the client's bucket
    queue,              \* events of the controller, the oldest first
    work,               \* events that it can still handle in this tick
    waited,             \* history: ticks that the present election has waited, up to too many
    budget              \* what is left of Limits

vars == <<tokens, queue, work, waited, budget>>

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

Min(n, other) == IF n < other THEN n ELSE other

Init ==
    /\ tokens = Burst
    /\ queue = <<>>
    /\ work = Speed
    /\ waited = 0
    /\ budget = Limits

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ tokens \in Int /\ tokens <= Burst
    /\ queue \in Seq({"creation", "election"})
    /\ work \in 0 .. Speed
    /\ waited \in 0 .. ElectionBudget + 1
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]

IsAwaited == \E i \in DOMAIN queue : queue[i] = "election"
IsAdmitting == tokens >= 0
Charge(partitions) == partitions

(* A topic is admitted: each of its partitions is an event.                  *)
AdmitMutation ==
    \E partitions \in Sizes :
        /\ IsAdmitting
        /\ tokens' = tokens - Charge(partitions)
        /\ queue' = queue \o [n \in 1 .. partitions |-> "creation"]
        /\ UNCHANGED <<work, waited, budget>>

(* A broker dies, and the partitions that it led want another leader.        *)
CrashBroker ==
    /\ Spend("crashes")
    /\ queue' = Append(queue, "election")
    /\ UNCHANGED <<tokens, work, waited>>

(* The place of the event that is handled next: the oldest.                  *)
NextEvent == 1

Without(i) == SubSeq(queue, 1, i - 1) \o SubSeq(queue, i + 1, Len(queue))

Handle(event) ==
    /\ work > 0
    /\ queue # <<>>
    /\ queue[NextEvent] = event
    /\ queue' = Without(NextEvent)
    /\ work' = work - 1
    /\ UNCHANGED <<tokens, budget>>

(* The controller gives a created partition its first leader.                *)
InitLeader == Handle("creation") /\ UNCHANGED waited

(* The controller elects another leader at last.                             *)
ElectLeader == Handle("election") /\ waited' = 0

(* What the bucket keeps after a tick.                                       *)
Filled == Min(tokens + Rate, Burst)

(* One tick passes, when the controller has done what it can in the last.    *)
PassTime ==
    /\ work = 0 \/ queue = <<>>
    /\ tokens' = Filled
    /\ work' = Speed
    /\ waited' = IF IsAwaited THEN Min(waited + 1, ElectionBudget + 1) ELSE 0
    /\ UNCHANGED <<queue, budget>>

-----------------------------------------------------------------------------
Next ==
    \/ AdmitMutation
    \/ CrashBroker
    \/ InitLeader
    \/ ElectLeader
    \/ PassTime

Spec == Init /\ [][Next]_vars /\ WF_vars(InitLeader \/ ElectLeader) /\ WF_vars(PassTime)

-----------------------------------------------------------------------------
(* A flood of creations delays an election by no more than its budget.       *)
\* @req QUOTA-009
ElectionInBudget == waited <= ElectionBudget

(* A topic is admitted when there is no debt, so that none is larger than    *)
(* one.                                                                      *)
\* @req QUOTA-001
DebtIsOfOneTopic == \E partitions \in Sizes : tokens >= -partitions

(* The oldest event is handled, and takes of the time of the tick; what is   *)
(* new comes last: partitions that were paid for, or one election.           *)
\* @req QUOTA-009
EventsAreHandledInOrder ==
    [][queue' # queue =>
        IF Len(queue') < Len(queue)
        THEN /\ queue' = Tail(queue)
             /\ work' = work - 1
             /\ waited' = IF Head(queue) = "election" THEN 0 ELSE waited
             /\ UNCHANGED <<tokens, budget>>
        ELSE LET came == SubSeq(queue', Len(queue) + 1, Len(queue'))
             IN /\ SubSeq(queue', 1, Len(queue)) = queue
                /\ IF budget' = budget
                   THEN /\ \A i \in DOMAIN came : came[i] = "creation"
                        /\ tokens - tokens' = Len(came)
                   ELSE came = <<"election">> /\ tokens' = tokens
                /\ UNCHANGED <<work, waited>>]_vars

(* Where no event comes or goes a tick has passed: the bucket is filled up   *)
(* to the burst, and what is awaited waits longer.                           *)
\* @req QUOTA-001
\* @req QUOTA-009
TicksPass ==
    [][queue' = queue =>
        /\ work' = Speed
        /\ tokens' = tokens + Rate \/ (tokens' = Burst /\ tokens' - tokens < Rate)
        /\ waited' > waited \/ waited' > ElectionBudget \/ ~IsAwaited
        /\ UNCHANGED budget]_vars

(* In the end every election is held.                                        *)
\* @req QUOTA-009
EventuallyElected == []<>~IsAwaited

-----------------------------------------------------------------------------
(* What must be possible *)

(* A bucket without tokens is one without debt: the largest topic is taken   *)
(* from it, and all of it is owed.                                           *)
WholeTopicIsOwed == \A partitions \in Sizes : tokens <= -partitions

(* An election waits behind another.                                         *)
TwoElectionsWait ==
    \E i, j \in DOMAIN queue : i < j /\ queue[i] = "election" /\ queue[j] = "election"
=============================================================================
