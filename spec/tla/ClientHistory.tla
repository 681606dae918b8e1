--------------------------- MODULE ClientHistory ----------------------------
(* What producers and consumers of one partition see, and in which order.    *)
(* Every step of `Replication` goes on as it is; clients only watch. A client*)
(* may ask any broker that believes that it leads, a replaced one included.  *)
(*                                                                           *)
(* A produce begins when the leader appends it, and a fetch is one moment:   *)
(* real operations take longer, so that fewer of them are ordered in time.   *)
(* A produce that is neither acknowledged nor refused has timed out, or will;*)
(* its producer knows nothing (CLI-005), and that needs no action.           *)
EXTENDS ReplicationProperties

VARIABLE history    \* what clients saw, oldest first

ClientInit == Init /\ history = <<>>

NoValue == 0

AnswersOfBrokers == {"begun", "acknowledged", "refused", "fetched", "nothing", "out_of_range"}

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ LogsTypeOK
    /\ history \in Seq([answer : AnswersOfBrokers, broker : Brokers, leader_epoch : Nat,
                        offset : Nat \cup {Unknown}, value : Nat])

Told(answer, b, leader_epoch, offset, value) ==
    history' = Append(history, [answer |-> answer, broker |-> b, leader_epoch |-> leader_epoch,
                                offset |-> offset, value |-> value])

Answers(answer) == {i \in DOMAIN history : history[i].answer = answer}

-----------------------------------------------------------------------------
IsAppended(b) == /\ budget'["records"] < budget["records"]
                 /\ Len(logs'[b].records) > Len(logs[b].records)

(* Brokers and controllers do something. If a leader appends a record, the   *)
(* produce that brought it has begun.                                        *)
Replicate ==
    /\ Next
    /\ IF \E b \in Brokers : IsAppended(b)
       THEN \E b \in Brokers :
                /\ IsAppended(b)
                /\ Told("begun", b, replicas[b].leader_epoch, EndOffset(b),
                        logs'[b].records[EndOffset(b) + 1].value)
       ELSE UNCHANGED history

StillLeads(seen) ==
    /\ IsLeading(seen.broker)
    /\ replicas[seen.broker].leader_epoch = seen.leader_epoch

IsSettled(seen) ==
    \E i \in Answers("acknowledged") \cup Answers("refused") : history[i].value = seen.value

IsPassed(b, offset) == offset < logs[b].high_watermark

(* The broker that appended a record answers when its high watermark has     *)
(* passed it, while it still leads under the epoch of the record (REPL-008). *)
AcknowledgeProduce(b) ==
    \E i \in Answers("begun") :
        LET seen == history[i]
        IN /\ seen.broker = b
           /\ ~IsSettled(seen)
           /\ StillLeads(seen)
           /\ IsPassed(b, seen.offset)
           /\ Told("acknowledged", b, seen.leader_epoch, seen.offset, seen.value)
           /\ UNCHANGED vars

(* A broker that does not lead refuses a produce before it appends anything. *)
RefuseAtOnce(b) ==
    /\ replicas[b].role \in {"idle", "follower", "fenced"}
    /\ Metadata!Spend("records")
    /\ Told("refused", b, replicas[b].leader_epoch, Unknown,
            Limits["records"] - budget["records"] + 1)
    /\ UNCHANGED <<znodes, controllers, replicas, messages, breaches, log_vars>>

(* One that stopped leading after it appended must not: the record may stay  *)
(* in the log (CMD-004, NOT_LEADER_AFTER_APPEND).                            *)
RefuseAfterAppend(b) == FALSE

RefuseProduce(b) == RefuseAtOnce(b) \/ RefuseAfterAppend(b)

(* What clients know about offsets: records read, own records acknowledged.  *)
Known == {history[i] : i \in Answers("acknowledged") \cup Answers("fetched")}

Visible(b) == Min({Covered(logs[b].high_watermark), EndOffset(b)})

LastValid(b) == EndOffset(b)

(* A consumer asks from the beginning or goes on behind what is known. It    *)
(* gets a record below the high watermark, nothing up to the log end, and an *)
(* error above it (CLI-001, CLI-002).                                        *)
Fetch(b) ==
    /\ IsLeading(b)
    /\ Metadata!Spend("fetches")
    /\ \E offset \in {0} \cup {seen.offset + 1 : seen \in Known} :
          LET answer == IF offset < Visible(b) THEN "fetched"
                        ELSE IF offset <= LastValid(b) THEN "nothing" ELSE "out_of_range"
              value == IF answer = "fetched" THEN Records(b)[offset + 1].value ELSE NoValue
          IN Told(answer, b, replicas[b].leader_epoch, offset, value)
    /\ UNCHANGED <<znodes, controllers, replicas, messages, breaches, log_vars>>

ClientNext ==
    \/ Replicate
    \/ \E b \in Brokers : AcknowledgeProduce(b)
    \/ \E b \in Brokers : RefuseProduce(b)
    \/ \E b \in Brokers : Fetch(b)

-----------------------------------------------------------------------------
IsCommitted(seen) ==
    \E entry \in committed : entry.offset = seen.offset /\ entry.record.value = seen.value

(* A producer that was told "safe" was told the truth.                       *)
\* @req REPL-008
AcknowledgedImpliesCommitted ==
    \A i \in Answers("acknowledged") : IsCommitted(history[i])

(* Consumers read nothing that is not committed.                             *)
\* @req CLI-001
ReadsOnlyCommitted == \A i \in Answers("fetched") : IsCommitted(history[i])

(* One offset, one record: whoever reads it, from whichever leader, whenever,*)
(* and the producer of the record was told this offset.                      *)
\* @req CLI-004
RepeatableRead ==
    \A seen, other \in Known : seen.offset = other.offset <=> seen.value = other.value

(* A record that was known before a produce began comes before the produced  *)
(* record, should a reader ever see that.                                    *)
RealTimeOrder ==
    \A i \in Answers("acknowledged") \cup Answers("fetched") : \A j \in Answers("begun") :
        \A seen \in Known :
            (i < j /\ seen.value = history[j].value) => history[i].offset < seen.offset

(* Clients see one log, in which a record that was known before a produce    *)
(* began comes before the produced one. A fetch that finds nothing says      *)
(* nothing: the leader may be new and its high watermark behind, or replaced. *)
\* @req CLI-004
LinearizableLog == RepeatableRead /\ RealTimeOrder /\ ReadsOnlyCommitted

(* A produce that was refused is not in the log.                             *)
\* @req CLI-005
\* @req CMD-004
RefusedNeverCommitted ==
    \A i \in Answers("refused") : \A entry \in committed :
        entry.record.value # history[i].value

(* A position that a client was once given stays valid. Only a leader that   *)
(* is older than one the client has heard from may say otherwise: clients    *)
(* know epochs from the answers.                                             *)
\* @req CLI-002
PositionsStayValid ==
    \A i \in Answers("out_of_range") :
        \E j \in 1 .. i - 1 : history[j].leader_epoch > history[i].leader_epoch

AcknowledgedToClients ==
    {[offset |-> history[i].offset,
      record |-> [leader_epoch |-> history[i].leader_epoch, value |-> history[i].value]] :
        i \in Answers("acknowledged")}

Seen == INSTANCE CommitLog WITH log <- CommittedLog, acknowledged <- AcknowledgedToClients

(* With the acknowledgements that clients hear, replication is still a       *)
(* commit log.                                                               *)
\* @req CLI-004
ClientsSeeCommitLog == Seen!Spec

(* What a client is told its broker knows at that moment: the leader that    *)
(* takes a record says where, tells its producer once when that is           *)
(* committed, and readers what is committed. A follower refuses what         *)
(* is in no log, and all that is taken is told.                              *)
\* @req REPL-008
\* @req CLI-001
\* @req CLI-002
\* @req CMD-004
AnswersTellWhatIs ==
    [][LET seen == history'[Len(history')]
           r == replicas[seen.broker]
           log == logs[seen.broker]
           ended == {i \in DOMAIN history : history[i].value = seen.value
                        /\ history[i].answer \in {"acknowledged", "refused"}}
       IN /\ budget'["records"] < budget["records"] => history' # history
          /\ history' # history =>
                /\ history' = Append(history, seen)
                /\ seen.leader_epoch = r.leader_epoch
                /\ seen.answer = "refused" <=> r.role # "leader"
                /\ r.role \notin {"down", "starting"}
                /\ CASE seen.answer = "begun" ->
                        /\ seen.offset = Len(log.records)
                        /\ logs'[seen.broker].records = Append(log.records,
                            [leader_epoch |-> seen.leader_epoch, value |-> seen.value])
                     [] seen.answer = "acknowledged" ->
                        /\ [seen EXCEPT !.answer = "begun"] \in {history[i] : i \in DOMAIN history}
                        /\ ended = {}
                        /\ seen.offset < log.high_watermark
                     [] seen.answer = "refused" ->
                        \A b \in Brokers : \A i \in DOMAIN logs[b].records :
                            logs[b].records[i].value # seen.value
                     [] seen.answer = "fetched" ->
                        /\ seen.offset < log.high_watermark
                        /\ seen.value = log.records[seen.offset + 1].value
                     [] seen.answer = "nothing" ->
                        seen.offset \in log.high_watermark .. Len(log.records)
                     [] seen.answer = "out_of_range" -> seen.offset > Len(log.records)
      ]_<<vars, history>>
-----------------------------------------------------------------------------
(* What must be possible *)

(* A record is acknowledged and read.                                        *)
RecordIsRead == Answers("acknowledged") # {} /\ Answers("fetched") # {}

(* A consumer waits for a record that its leader has, and has not committed. *)
ConsumerWaits ==
    \E i \in Answers("nothing") :
        /\ Answers("begun") # {}
        /\ history[i].offset < EndOffset(history[i].broker)

(* A replaced leader does not know an offset that its successor has told.    *)
OldLeaderKnowsLess == Answers("out_of_range") # {}

(* A consumer goes on behind what it has read, whatever the producer knows.  *)
ConsumerGoesOn ==
    /\ Answers("acknowledged") = {}
    /\ \E i, j \in DOMAIN history : i < j /\ history[i].answer = "fetched"
        /\ history[j].answer = "nothing" /\ history[j].offset = history[i].offset + 1

(* A leader starts again under the epoch in which it took a record, which    *)
(* is committed and was never acknowledged.                                  *)
CommittedInSilence ==
    Answers("acknowledged") = {} /\ \E b \in Brokers :
        /\ replicas[b].role = "idle" /\ logs[b].high_watermark > 0
        /\ \E i \in Answers("begun") : history[i].broker = b
            /\ history[i].leader_epoch = replicas[b].leader_epoch

(* A produce is refused by one broker and taken by the next.                 *)
ProduceIsRefused == Answers("refused") # {}
=============================================================================
