--------------------------- MODULE DecisionBatch ----------------------------
(* Decisions of one failover for many partitions, written in multis: all of  *)
(* a multi or nothing (Zk). One partition's conflict must not undo or delay  *)
(* the others, and nothing is told that was not written.                     *)
(*                                                                           *)
(* A partition is as small as it can be: ZooKeeper has the controller's      *)
(* decision or not, and the state that the controller read is the present    *)
(* one or not. What is decided is `Decisions`' concern, the fence too.       *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Partitions,     \* numbers, in the order in which they are written
    Busy,           \* those with a live leader that changes its ISR without end
    OperationsMax,  \* what one multi holds: ZooKeeper refuses larger ones
    Limits          \* how often each bounded thing may happen

VARIABLES
    written,        \* partitions of which ZooKeeper has the decision
    stale,          \* partitions that were changed since the controller read them
    batches,        \* multis still to be sent, in order
    unsure,         \* partitions of a multi without an answer
    to_send,        \* partitions with a command that is due
    told,           \* partitions with a command that is sent
    budget

vars == <<written, stale, batches, unsure, to_send, told, budget>>

ASSUME Busy \subseteq Partitions

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

Smallest(S) == CHOOSE p \in S : \A other \in S : p <= other

(* In order, at most `size` in each.                                         *)
RECURSIVE FirstOf(_, _), InBatchesOf(_, _)
FirstOf(S, size) ==
    IF S = {} \/ size = 0 THEN {}
    ELSE {Smallest(S)} \cup FirstOf(S \ {Smallest(S)}, size - 1)
InBatchesOf(S, size) ==
    IF S = {} THEN <<>>
    ELSE <<FirstOf(S, size)>> \o InBatchesOf(S \ FirstOf(S, size), size)

Init ==
    /\ written = {}
    /\ stale = {}
    /\ batches = <<>>
    /\ unsure = {}
    /\ to_send = {}
    /\ told = {}
    /\ budget = Limits

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ written \subseteq Partitions
    /\ stale \subseteq Busy
    /\ batches \in Seq(SUBSET Partitions \ {{}})
    /\ unsure \subseteq Partitions
    /\ to_send \subseteq Partitions
    /\ told \subseteq Partitions
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]

Waiting == UNION {batches[i] : i \in DOMAIN batches}

(* How many partitions one multi is to hold at most.                         *)
BatchSize == OperationsMax

(* What ZooKeeper has no decision for, and no multi either, is read and      *)
(* decided, all at once, and cut into multis of bounded size. They come after*)
(* those that wait already.                                                  *)
ElectLeader ==
    LET undecided == Partitions \ (written \cup Waiting \cup unsure)
    IN /\ undecided # {}
       /\ batches' = batches \o InBatchesOf(undecided, BatchSize)
       /\ stale' = stale \ undecided
       /\ UNCHANGED <<written, unsure, to_send, told, budget>>

(* A leader drops a follower from its ISR. Nothing bounds how often.         *)
ShrinkIsr(p) ==
    /\ p \in Busy
    /\ p \in Waiting
    /\ stale' = stale \cup {p}
    /\ UNCHANGED <<written, batches, unsure, to_send, told, budget>>

IsTooLarge(batch) == Cardinality(batch) > OperationsMax

(* ZooKeeper stops at the first operation that fails and names it. That one  *)
(* leaves the batch, to be read and decided anew; the others, of which       *)
(* nothing is known to be wrong, are written next, in halves. For what is    *)
(* too large ZooKeeper has no answer but to hang up: all is read anew.       *)
Refused(batch) == Smallest(batch \cap stale)

Rewritten(batch) ==
    LET others == batch \ {Refused(batch)}
    IN InBatchesOf(others, (Cardinality(others) + 1) \div 2)

AfterFailure(batch) ==
    IF IsTooLarge(batch) THEN <<>> ELSE Rewritten(batch) \o Tail(batches)

IsAccepted(batch) == ~IsTooLarge(batch) /\ batch \cap stale = {}
Done(batch) == IF IsAccepted(batch) THEN batch ELSE {}

(* What is told after the answer to a multi: what is done. Of a refused one  *)
(* ZooKeeper tells each operation's result, and those before the failed one  *)
(* look as if they had been done.                                            *)
Told(batch) == Done(batch)

(* The next multi, and its answer.                                           *)
WriteBatch ==
    /\ batches # <<>>
    /\ LET batch == Head(batches)
       IN /\ written' = written \cup Done(batch)
          /\ to_send' = to_send \cup Told(batch)
          /\ batches' = IF IsAccepted(batch) THEN Tail(batches) ELSE AfterFailure(batch)
    /\ UNCHANGED unsure

(* What is there is the decision: all of the multi, or none of it.           *)
FoundDone(S) == S \cap written

(* The states of a multi without an answer are read. What is there is told,  *)
(* the rest is decided anew.                                                 *)
SettleBatch ==
    /\ unsure' = {}
    /\ to_send' = to_send \cup FoundDone(unsure)
    /\ UNCHANGED <<written, batches>>

(* One multi, or what became of the last one (ZK-006).                       *)
PublishDecision ==
    /\ IF unsure # {} THEN SettleBatch ELSE WriteBatch
    /\ UNCHANGED <<stale, told, budget>>

LosesAnswer(done) ==
    /\ batches # <<>>
    /\ unsure = {}
    /\ written' = written \cup done
    /\ unsure' = Head(batches)
    /\ batches' = Tail(batches)
    /\ UNCHANGED <<stale, to_send, told>>

(* A multi is written or refused, and the controller does not hear which.    *)
LoseReply == Spend("lost_replies") /\ LosesAnswer(Done(Head(batches)))

(* A multi never arrives, and the controller knows as little.                *)
LoseRequest == Spend("lost_requests") /\ LosesAnswer({})

SendLeaderAndIsr(p) ==
    /\ p \in to_send
    /\ to_send' = to_send \ {p}
    /\ told' = told \cup {p}
    /\ UNCHANGED <<written, stale, batches, unsure, budget>>

(* Between any two multis. The next controller tells what ZooKeeper has, and *)
(* decides the rest.                                                         *)
CrashController ==
    /\ Spend("crashes")
    /\ batches' = <<>>
    /\ unsure' = {}
    /\ to_send' = written
    /\ UNCHANGED <<written, stale, told>>

Next ==
    \/ ElectLeader
    \/ \E p \in Partitions : ShrinkIsr(p)
    \/ PublishDecision
    \/ \E p \in Partitions : SendLeaderAndIsr(p)
    \/ CrashController
    \/ LoseReply
    \/ LoseRequest

Spec ==
    /\ Init
    /\ [][Next]_vars
    /\ WF_vars(ElectLeader)
    /\ WF_vars(PublishDecision)
    /\ \A p \in Partitions : WF_vars(SendLeaderAndIsr(p))

-----------------------------------------------------------------------------
(* No command is sent for what ZooKeeper does not hold.                      *)
\* @req FAIL-006
CommandReflectsZk == told \subseteq written

(* A partition is in one place: it waits, in one multi, or it is not known   *)
(* what became of it, or ZooKeeper has its decision; and what ZooKeeper has  *)
(* is told, or is still to be.                                               *)
\* @req FAIL-006
\* @req ZK-006
OnePlace ==
    /\ Waiting \cap (written \cup unsure) = {}
    /\ \A i, j \in DOMAIN batches : batches[i] \cap batches[j] # {} => i = j
    /\ to_send \subseteq written
    /\ written \subseteq to_send \cup told \cup unsure

(* ZooKeeper has no decision that was made before a change of its partition. *)
\* @req ZK-003
WrittenIsFresh == written \cap stale = {}

(* Nothing leaves the queue but what is written, or may be, and what was     *)
(* changed meanwhile; what is too large is read anew. What comes into it is  *)
(* fresh, behind what is there, in as few multis as can hold it; a multi that*)
(* was refused comes again in halves.                                        *)
\* @req ZK-007
QueueIsKept ==
    [][LET is_crash == budget'["crashes"] < budget["crashes"] IN
        /\ is_crash => batches' = <<>> /\ unsure' = {} /\ to_send' = written
        /\ \A p \in Waiting \ Waiting' :
            p \in written' \cup unsure' \cup stale \/ is_crash \/ IsTooLarge(Head(batches))
        /\ \A p \in Waiting' \ Waiting : p \notin stale' \cup written \cup unsure
        /\ Waiting' \ Waiting # {} =>
            /\ SubSeq(batches', 1, Len(batches)) = batches
            /\ Partitions = Waiting' \cup written \cup unsure
            /\ (Len(batches') - Len(batches)) * OperationsMax - Cardinality(Waiting' \ Waiting)
                    \in 0 .. OperationsMax - 1
        /\ written \subseteq written' /\ told \subseteq told'
        /\ to_send \ to_send' \subseteq told'
        /\ (Waiting \ Waiting' # {} /\ batches' # <<>> /\ Len(batches') >= Len(batches)) =>
            Cardinality(Head(batches')) <= Cardinality(Head(batches)) \div 2]_vars

(* A partition that no other writer changes gets its decision, whatever      *)
(* happens to the others, and its brokers get the command.                   *)
\* @req ZK-007
OthersEventuallyTold == \A p \in Partitions \ Busy : <>(p \in told)

(* One failover: broker 1 led, and 2 takes its place. Changes of the ISR are *)
(* seen only as what makes a decision stale.                                 *)
AsStateZnode(p) == INSTANCE StateZnode WITH
    BrokerOf <- LAMBDA b : b,
    state <- IF p \in written
             THEN [leader |-> 2, leader_epoch |-> 1, isr |-> {2}, controller_epoch |-> 0]
             ELSE [leader |-> 1, leader_epoch |-> 0, isr |-> {1, 2}, controller_epoch |-> 0],
    version <- IF p \in written THEN 1 ELSE 0,
    assigned <- {1, 2},
    decided_on <- IF p \in Waiting \ (stale \cup written) THEN {0} ELSE {},
    asked_on <- {},
    controller_epoch <- 0,
    is_loss_told <- FALSE

(* The znode of each state changes as `StateZnode` says: no decision is      *)
(* written on a version that is not the one it was made on.                  *)
\* @req ZK-003
\* @req ZK-007
RefinesStateZnode ==
    /\ \A p \in Partitions : AsStateZnode(p)!Init
    /\ [][\A p \in Partitions : AsStateZnode(p)!IsAllowed]_vars

-----------------------------------------------------------------------------
(* What must be possible: the others of a refused multi are written and told *)
(* while the one that was refused still waits, in the end all are told, and  *)
(* a multi without an answer is found done, or not.                          *)
OthersOvertake ==
    \E p \in Busy : p \notin written /\ \E other \in told : other > p /\ other <= OperationsMax
AllIsTold == told = Partitions /\ to_send = {} /\ batches = <<>>
BatchFoundDone == unsure # {} /\ unsure \subseteq written
BatchFoundLost == unsure # {} /\ unsure \cap (written \cup stale) = {}
=============================================================================
