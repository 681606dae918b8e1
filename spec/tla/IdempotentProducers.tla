------------------------ MODULE IdempotentProducers -------------------------
(* An idempotent producer of one partition (KIP-98): it numbers its records, *)
(* and a retry has the number of the first try, so that the leader can tell  *)
(* it from something new, whoever leads by then.                             *)
(*                                                                           *)
(* What replication does is taken as given (`CommitLog`): the next leader's  *)
(* log is a prefix of this one's, no shorter than what is committed.         *)
(* Requests stay in the network for ever: each may arrive late, twice or not *)
(* at all. Left out: other producers, with records of other ids, and how ids *)
(* are given away.                                                           *)
EXTENDS Integers, Sequences

CONSTANTS
    InFlightMax,    \* how many records, the first that is not answered and those after it
    BatchesKept,    \* of its last records, how many a leader recognises
    Limits          \* how often each bounded thing may happen

VARIABLES
    log,            \* the leader's records, [producer_epoch, sequence, value]
    committed,      \* how many of them can't be lost any more
    leader_start,   \* history: the length of the log when its leader began to lead
    requests,       \* produces that were sent
    producer,       \* its epoch, its next sequence, and what it has in flight
    acknowledged,   \* history: [offset, value] that the producer was told
    budget

vars == <<log, committed, leader_start, requests, producer, acknowledged, budget>>

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

Init ==
    /\ log = <<>>
    /\ committed = 0
    /\ leader_start = 0
    /\ requests = {}
    /\ producer = [epoch |-> 0, sequence |-> 0, in_flight |-> {}]
    /\ acknowledged = {}
    /\ budget = Limits

Sent == [producer_epoch : Nat, sequence : Nat, value : Nat]

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ log \in Seq(Sent)
    /\ committed \in 0 .. Len(log)
    /\ leader_start \in 0 .. Len(log)
    /\ \A m \in requests : m \in Sent
    /\ producer.epoch \in Nat
    /\ producer.sequence \in Nat
    /\ producer.in_flight \subseteq requests
    /\ \A told \in acknowledged : told \in [offset : Nat, value : Nat]
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]

-----------------------------------------------------------------------------
(* What a leader knows of the producer: a function of its log, so that every *)
(* replica that has the records can lead.                                    *)
Seen == DOMAIN log

Recognised == {i \in Seen : i > Len(log) - BatchesKept}

Positions(m) ==
    {i \in Recognised :
        log[i].producer_epoch = m.producer_epoch /\ log[i].sequence = m.sequence}

NoRecord == [producer_epoch |-> -1, sequence |-> -1, value |-> 0]
Last == IF Seen = {} THEN NoRecord ELSE log[Len(log)]

(* It comes next: under the last epoch with the next sequence, or under a    *)
(* larger epoch with the first. Kafka takes any first sequence of a producer *)
(* that it does not know; here nothing but truncation makes a log forget,    *)
(* and then records are missing.                                             *)
ComesNext(m) ==
    \/ m.producer_epoch > Last.producer_epoch /\ m.sequence = 0
    \/ m.producer_epoch = Last.producer_epoch /\ m.sequence = Last.sequence + 1

-----------------------------------------------------------------------------
(* The first record that is not answered is near enough to be recognised.    *)
IsInReach == \A open \in producer.in_flight : producer.sequence < open.sequence + InFlightMax

(* The producer sends one record more, under the next sequence, if that is   *)
(* not too far ahead of the first that is not answered.                      *)
SendProduce ==
    LET m == [producer_epoch |-> producer.epoch, sequence |-> producer.sequence,
              value |-> Limits["values"] - budget["values"] + 1]
    IN /\ IsInReach
       /\ Spend("values")
       /\ requests' = requests \cup {m}
       /\ producer' = [producer EXCEPT !.sequence = @ + 1, !.in_flight = @ \cup {m}]
       /\ UNCHANGED <<log, committed, leader_start, acknowledged>>

Appended(m) == Append(log, m)

(* A request arrives, for the first time or again, and comes next. Anything  *)
(* else is found in the log already or refused, which changes nothing.       *)
LeaderAppend ==
    \E m \in requests :
        /\ Positions(m) = {}
        /\ ComesNext(m)
        /\ log' = Appended(m)
        /\ UNCHANGED <<committed, leader_start, requests, producer, acknowledged, budget>>

(* The leader's high watermark moves.                                        *)
AdvanceHighWatermark ==
    \E end \in committed + 1 .. Len(log) :
        /\ committed' = end
        /\ UNCHANGED <<log, leader_start, requests, producer, acknowledged, budget>>

(* Another broker leads: what was not committed may be lost.                 *)
BecomeLeader ==
    \E end \in committed .. Len(log) :
        /\ Spend("elections")
        /\ log' = SubSeq(log, 1, end)
        /\ leader_start' = end
        /\ UNCHANGED <<committed, requests, producer, acknowledged>>

(* What is in flight once a record is answered.                              *)
Unanswered(m) == producer.in_flight \ {m}

(* A try of a record in flight is answered with its place in the log, when   *)
(* that is committed: the first try or a retry, which is the same request.   *)
AcknowledgeProduce ==
    \E m \in producer.in_flight : \E i \in Positions(m) :
        /\ i <= committed
        /\ acknowledged' = acknowledged \cup {[offset |-> i - 1, value |-> m.value]}
        /\ producer' = [producer EXCEPT !.in_flight = Unanswered(m)]
        /\ UNCHANGED <<log, committed, leader_start, requests, budget>>

IsUnanswered == producer.in_flight # {}

(* The producer retries no more. What is in flight may be in the log or not  *)
(* (CLI-005); it goes on under the next epoch, with new records.             *)
GiveUp ==
    /\ IsUnanswered
    /\ Spend("epochs")
    /\ producer' = [epoch |-> producer.epoch + 1, sequence |-> 0, in_flight |-> {}]
    /\ UNCHANGED <<log, committed, leader_start, requests, acknowledged>>

ProducerNext ==
    \/ SendProduce
    \/ LeaderAppend
    \/ AdvanceHighWatermark
    \/ BecomeLeader
    \/ AcknowledgeProduce
    \/ GiveUp

(* A producer that does not give up tries again until it is answered.        *)
Spec ==
    /\ Init
    /\ [][ProducerNext]_vars
    /\ WF_vars(LeaderAppend)
    /\ WF_vars(AdvanceHighWatermark)
    /\ WF_vars(AcknowledgeProduce)

-----------------------------------------------------------------------------
(* However often a record was sent, it is in the log once.                   *)
\* @req CLI-005
NoDuplicates ==
    \A i, j \in DOMAIN log : log[i].value = log[j].value => i = j

(* Under each epoch the records are in the log as they were sent, from the   *)
(* first on without a gap, and none of an older epoch comes after one of a   *)
(* newer.                                                                    *)
\* @req CLI-005
SequencesInOrder ==
    \A i \in DOMAIN log :
        LET before == IF i = 1 THEN NoRecord ELSE log[i - 1]
        IN \/ /\ log[i].producer_epoch = before.producer_epoch
              /\ log[i].sequence = before.sequence + 1
           \/ log[i].producer_epoch > before.producer_epoch /\ log[i].sequence = 0

(* What the producer was told is in the log for ever, where it was told.     *)
\* @req CLI-005
AcknowledgedDurable ==
    \A told \in acknowledged :
        told.offset < committed /\ log[told.offset + 1].value = told.value

(* In flight is what was sent under the present epoch and not acknowledged;  *)
(* the next sequence counts what was sent.                                   *)
\* @req CLI-005
InFlightIsUnanswered ==
    LET sent == {m \in requests : m.producer_epoch = producer.epoch}
    IN /\ producer.in_flight =
            {m \in sent : \A told \in acknowledged : told.value # m.value}
       /\ {m.sequence : m \in sent} = 0 .. producer.sequence - 1

(* Only what the last records of a leader are can be recognised: what is in  *)
(* flight is no more than that.                                              *)
\* @req CLI-005
InFlightIsBounded ==
    \A m \in producer.in_flight : producer.sequence - m.sequence <= InFlightMax

(* A log grows by a record that was sent, and gets shorter with its leader.  *)
\* @req CLI-005
LogsAreSent ==
    [][IF budget'["elections"] < budget["elections"]
       THEN log' = SubSeq(log, 1, leader_start') /\ Len(log') = leader_start'
       ELSE log' # log => \E m \in requests : log' = Append(log, m)]_vars

(* An epoch ends because a record of it has no answer.                       *)
\* @req CLI-005
EpochsEndUnanswered ==
    [][producer'.epoch # producer.epoch =>
        \E m \in requests :
            /\ m.producer_epoch = producer.epoch
            /\ \A told \in acknowledged : told.value # m.value]_vars

(* A producer that goes on trying hears of every record in the end.          *)
\* @req CLI-005
RetriesEnd == <>[](producer.in_flight = {})
-----------------------------------------------------------------------------
(* What must be possible *)

(* A leader finds a retry among the records of the leader before it.         *)
RetryIsRecognised == \E told \in acknowledged : told.offset < leader_start

(* A record that a change of leader lost is appended by its retry.           *)
RetryIsAppended ==
    /\ leader_start = 0 /\ budget["elections"] < Limits["elections"]
    /\ \E told \in acknowledged : told.value = 1

(* What was given up arrives, and a record of the next epoch after it.       *)
GivenUpRecordArrives ==
    \E i, j \in DOMAIN log : log[i].producer_epoch < log[j].producer_epoch

(* The producer goes on and all is answered.                                 *)
AllIsAnswered ==
    budget["values"] = 0 /\ producer.in_flight = {} /\ Len(log) = Limits["values"]
=============================================================================
