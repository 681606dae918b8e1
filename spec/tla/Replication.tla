---------------------------- MODULE Replication -----------------------------
(* One partition with its records: the actions of `LeaderAndIsr` composed    *)
(* with logs, fetches and high watermarks. `high_watermark` is the first     *)
(* offset that is not committed.                                             *)
EXTENDS ReplicaLog, FiniteSets, TLC

CONSTANTS Brokers, Controllers, InitialIsr, Start, Limits, network,
    unclean_leader_election,
    truncation,     \* "high_watermark": V3 as written; "leader_epoch": level 2
    MinInsyncReplicas   \* min.insync.replicas; every producer waits for all

VARIABLES znodes, controllers, replicas, messages, budget, breaches,
    logs,           \* per broker its records and what it knows about offsets
    fetches,        \* answers to fetches in flight
    committed,      \* history: records that were below a leader's high watermark
    acknowledged    \* history: records that were acknowledged to their producer

log_vars == <<logs, fetches, committed, acknowledged>>

Metadata == INSTANCE LeaderAndIsr
metadata_vars == <<znodes, controllers, replicas, messages, budget, breaches>>
vars == <<metadata_vars, log_vars>>

ASSUME truncation \in {"high_watermark", "leader_epoch"}

Unknown == -1
NoEndOffsets == [f \in Brokers |-> Unknown]

Records(b) == logs[b].records
EndOffset(b) == LogEndOffset(logs[b].records)
IsLeading(b) == replicas[b].role = "leader"

(* How many records a high watermark covers. V3's text calls it the offset   *)
(* of the last committed record, and computes the first that is not.         *)
Covered(high_watermark) == high_watermark

IsFetching(f) == replicas[f].role = "follower" /\ logs[f].is_truncated

Init ==
    /\ Metadata!Init
    /\ logs = [b \in Brokers |-> [records |-> <<>>, high_watermark |-> 0,
                                  is_truncated |-> Start = "serving", epoch_start |-> 0,
                                  end_offsets |-> NoEndOffsets]]
    /\ fetches = {}
    /\ committed = {}
    /\ acknowledged = {}

LogRecord == [leader_epoch : Nat, value : Nat]

(* What this module adds to the variables of `LeaderAndIsr`, each in the     *)
(* shape that its readers expect.                                            *)
LogsTypeOK ==
    /\ logs \in [Brokers -> [records : Seq(LogRecord), high_watermark : Nat,
                            is_truncated : BOOLEAN, epoch_start : Nat,
                            end_offsets : [Brokers -> Nat \cup {Unknown}]]]
    /\ \A answer \in fetches :
        answer \in [from : Brokers, to : Brokers, leader_epoch : Nat, offset : Nat,
                   records : Seq(LogRecord), high_watermark : Nat, copy : {1, 2}]
    /\ \A entry \in committed \cup acknowledged : entry \in [offset : Nat, record : LogRecord]
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]

AnswersNotTo(b) == {answer \in fetches : answer.to # b}

-----------------------------------------------------------------------------
(* Roles *)

(* Nothing of the old leader is appended after a change of role (V3 C): the  *)
(* fetcher stops before anything else, and forgets the answers that are on   *)
(* their way to it. IsAwaited is a second protection of the same rule.       *)
AnswersAfterRoleChange(b) == AnswersNotTo(b)

(* The followers' offsets are forgotten: only fetches of the new epoch tell  *)
(* what they hold.                                                           *)
OffsetsAfterRoleChange(end_offsets) == NoEndOffsets

(* The fetcher stops. The log end is the start of the epoch.                 *)
BecomeLeader(b) ==
    /\ Metadata!BecomeLeader(b)
    /\ logs' = [logs EXCEPT
                    ![b].is_truncated = TRUE,
                    ![b].epoch_start = EndOffset(b),
                    ![b].end_offsets = OffsetsAfterRoleChange(@)]
    /\ fetches' = AnswersAfterRoleChange(b)
    /\ UNCHANGED <<committed, acknowledged>>

(* May the replica fetch from its new leader before it has truncated?        *)
MayFetchAtOnce(b) == FALSE

(* The replica stops its old fetcher and may not fetch again before it has   *)
(* truncated: TruncateLog is a step of its own because at level 2 it takes   *)
(* an answer from the new leader.                                            *)
BecomeFollower(b) ==
    /\ Metadata!BecomeFollower(b)
    /\ logs' = [logs EXCEPT
                    ![b].is_truncated = MayFetchAtOnce(b),
                    ![b].epoch_start = 0,
                    ![b].end_offsets = OffsetsAfterRoleChange(@)]
    /\ fetches' = AnswersAfterRoleChange(b)
    /\ UNCHANGED <<committed, acknowledged>>

IsLedBy(f, l) ==
    /\ IsLeading(l)
    /\ replicas[f].leader = l
    /\ replicas[l].leader_epoch = replicas[f].leader_epoch

(* Level 0 and 1 cut at the replica's own high watermark and ask no broker.  *)
(* Level 2 asks the leader of exactly its own epoch where their logs part    *)
(* (CMD-005). Question and answer are one step: while a leader leads, the    *)
(* ends of earlier epochs in its log do not move, and an answer of an        *)
(* earlier epoch is dropped by the asker.                                    *)
TruncateLog(b) ==
    LET leader == replicas[b].leader
        offset == IF truncation = "high_watermark" THEN Covered(logs[b].high_watermark)
                  ELSE TruncationOffset(Records(b), Records(leader))
    IN /\ replicas[b].role = "follower"
       /\ ~logs[b].is_truncated
       /\ leader \in Brokers
       /\ truncation = "leader_epoch" => IsLedBy(b, leader)
       /\ logs' = [logs EXCEPT ![b].records = Truncated(@, offset),
                               ![b].high_watermark = Min({@, offset}),
                               ![b].is_truncated = TRUE]
       /\ UNCHANGED <<metadata_vars, fetches, committed, acknowledged>>

-----------------------------------------------------------------------------
(* Records *)

(* min.insync.replicas: a produce that waits for all is refused before it is *)
(* appended while the ISR is smaller, and is not acknowledged when the ISR   *)
(* has become smaller since (REPL-008).                                      *)
HasEnoughReplicas(l) == Cardinality(replicas[l].isr) >= MinInsyncReplicas
MayTake(l) == HasEnoughReplicas(l)
MayAcknowledge(l) == HasEnoughReplicas(l)

AtOffset(b, offset) == [offset |-> offset, record |-> Records(b)[offset + 1]]

(* What a producer is told as soon as its record is appended: every producer *)
(* here waits for all (REPL-008).                                            *)
AcknowledgedAtOnce(entry) == {}

(* A client's record reaches a broker that believes that it leads. Values    *)
(* are numbered, so that no two records are alike. Clients are not modelled: *)
(* a record is acknowledged when it is below the high watermark.             *)
LeaderAppend(b) ==
    LET record == [leader_epoch |-> replicas[b].leader_epoch,
                   value |-> Limits["records"] - budget["records"] + 1]
        new == [offset |-> EndOffset(b), record |-> record]
    IN /\ IsLeading(b)
       /\ MayTake(b)
       /\ Metadata!Spend("records")
       /\ logs' = [logs EXCEPT ![b].records = Append(@, record)]
       /\ acknowledged' = acknowledged \cup AcknowledgedAtOnce(new)
       /\ UNCHANGED <<znodes, controllers, replicas, messages, breaches, fetches, committed>>

(* A fetch of another leader epoch is refused (KIP-320).                     *)
IsAnswered(f, l) == IsLedBy(f, l)

(* The leader learns a follower's log end offset and answers with at most    *)
(* one record and its high watermark. The request is read from the follower  *)
(* as it is now: an unanswered request is repeated with the present offset,  *)
(* and a new one replaces the answer to the one before (one fetch is open at *)
(* a time). The answer carries the high watermark from before this fetch     *)
(* moved it, as if the two answers had been lost in between. A request that  *)
(* comes late tells what the follower held when it sent it: at level 2 that  *)
(* is an earlier fetch of the same epoch; below, where it may have cut its   *)
(* log since, it is left out.                                                *)
ServeFetch(l, f) ==
    LET answer == [from |-> l, to |-> f, leader_epoch |-> replicas[f].leader_epoch,
                   offset |-> EndOffset(f), records |-> Read(Records(l), EndOffset(f), 1),
                   high_watermark |-> logs[l].high_watermark, copy |-> 1]
        superseded == {other \in fetches : other.to = f /\ other.copy = 1}
    IN /\ l # f
       /\ IsFetching(f)
       /\ IsAnswered(f, l)
       /\ EndOffset(f) <= EndOffset(l)
       /\ logs' = [logs EXCEPT ![l].end_offsets[f] = EndOffset(f)]
       /\ fetches' = (fetches \ superseded) \cup {answer}
       /\ UNCHANGED <<metadata_vars, committed, acknowledged>>

(* The answer is of the leader that the follower has now, and of its epoch.  *)
IsAwaited(f, answer) ==
    /\ answer.from = replicas[f].leader
    /\ answer.leader_epoch = replicas[f].leader_epoch

(* A follower knows no more to be committed than it has (REPL-003).          *)
LearntHighWatermark(answer, end_offset) == Min({answer.high_watermark, end_offset})

(* An answer of the epoch and offset that the follower waits for: it appends *)
(* and learns the high watermark.                                            *)
(* Other answers stay in flight and have no effect.                          *)
FollowerAppend(f) ==
    \E answer \in fetches :
        LET records == Records(f) \o answer.records
            learnt == LearntHighWatermark(answer, LogEndOffset(records))
        IN /\ answer.to = f
           /\ IsFetching(f)
           /\ IsAwaited(f, answer)
           /\ answer.offset = EndOffset(f)
           /\ logs' = [logs EXCEPT ![f].records = records, ![f].high_watermark = learnt]
           /\ fetches' = fetches \ {answer}
           /\ UNCHANGED <<metadata_vars, committed, acknowledged>>

(* Those that a commit waits for (ISR-003).                                  *)
Quorum(l) == Metadata!MaximalIsr(l)

ReachedBy(l, f) == IF f = l THEN EndOffset(l) ELSE logs[l].end_offsets[f]

(* It never falls, and may move at any time, not only on a fetch (REPL-002). *)
MayAdvanceTo(l, high_watermark) == high_watermark > logs[l].high_watermark

(* The smallest log end offset of the ISR, the leader's own included; while  *)
(* an ISR change is in flight, of the old and the new ISR (REPL-002,         *)
(* ISR-003). A member that has not fetched in this epoch holds it where it   *)
(* is.                                                                       *)
AdvanceHighWatermark(l) ==
    LET new == Min({ReachedBy(l, f) : f \in Quorum(l) \cup {l}})
        covered == Min({Covered(new), EndOffset(l)})
        below == {AtOffset(l, offset) : offset \in 0 .. covered - 1}
    IN /\ IsLeading(l)
       /\ MayAdvanceTo(l, new)
       /\ logs' = [logs EXCEPT ![l].high_watermark = new]
       /\ committed' = committed \cup below
       /\ acknowledged' = acknowledged \cup (IF MayAcknowledge(l) THEN below ELSE {})
       /\ UNCHANGED <<metadata_vars, fetches>>

-----------------------------------------------------------------------------
(* The ISR *)

HasReachedHighWatermark(l, f) == logs[l].end_offsets[f] >= logs[l].high_watermark
HasReachedEpochStart(l, f) == logs[l].end_offsets[f] >= logs[l].epoch_start

(* A replica may join when it has fetched, in this epoch, up to the high     *)
(* watermark and up to the start of the epoch (ISR-002): a new leader's high *)
(* watermark may lag behind what its predecessor committed.                  *)
IsCaughtUp(l, f) == HasReachedHighWatermark(l, f) /\ HasReachedEpochStart(l, f)

ExpandIsr(l, f) ==
    /\ IsLeading(l)
    /\ IsCaughtUp(l, f)
    /\ Metadata!ExpandIsr(l, f)
    /\ UNCHANGED log_vars

ShrinkIsr(l, f) == Metadata!ShrinkIsr(l, f) /\ UNCHANGED log_vars
AdoptIsr(l) == Metadata!AdoptIsr(l) /\ UNCHANGED log_vars
FenceLeader(l) == Metadata!FenceLeader(l) /\ UNCHANGED log_vars

-----------------------------------------------------------------------------
(* The world *)

(* What a broker knew in memory is gone; its records are on disk. Loss of    *)
(* records that were not yet flushed is left out: it needs broker epochs.    *)
CrashBroker(b) ==
    /\ Metadata!CrashBroker(b)
    /\ logs' = [logs EXCEPT ![b].is_truncated = FALSE, ![b].epoch_start = 0,
                            ![b].end_offsets = NoEndOffsets]
    /\ fetches' = AnswersNotTo(b)
    /\ UNCHANGED <<committed, acknowledged>>

(* The high watermark comes from a checkpoint, which may be any earlier one. *)
RestartBroker(b) ==
    /\ Metadata!RestartBroker(b)
    /\ \E checkpoint \in 0 .. logs[b].high_watermark :
          logs' = [logs EXCEPT ![b].high_watermark = checkpoint]
    /\ UNCHANGED <<fetches, committed, acknowledged>>

LoseAnswer ==
    /\ Metadata!Spend("losses")
    /\ \E answer \in fetches : fetches' = fetches \ {answer}
    /\ UNCHANGED <<znodes, controllers, replicas, messages, breaches>>

DuplicateAnswer ==
    /\ Metadata!Spend("duplicates")
    /\ \E answer \in fetches : LET copied == [answer EXCEPT !.copy = 2] IN
          copied \notin fetches /\ fetches' = fetches \cup {copied}
    /\ UNCHANGED <<znodes, controllers, replicas, messages, breaches>>

(* A command or an answer is lost. For safety a lost message is one that     *)
(* never arrives, which needs no action: a recorded loss gets a counterpart. *)
LoseMessage ==
    /\ LoseAnswer \/ (Metadata!LoseMessage /\ UNCHANGED fetches)
    /\ UNCHANGED <<logs, committed, acknowledged>>

(* A second copy of either, which may arrive at any time after the first.    *)
DuplicateMessage ==
    /\ DuplicateAnswer \/ (Metadata!DuplicateMessage /\ UNCHANGED fetches)
    /\ UNCHANGED <<logs, committed, acknowledged>>

RegisterBroker(b) == Metadata!RegisterBroker(b) /\ UNCHANGED log_vars
CreateTopic == Metadata!CreateTopic /\ UNCHANGED log_vars
ElectController(c) == Metadata!ElectController(c) /\ UNCHANGED log_vars
ResignController(c) == Metadata!ResignController(c) /\ UNCHANGED log_vars
LearnController(b) == Metadata!LearnController(b) /\ UNCHANGED log_vars
DetectBrokerChange(c) == Metadata!DetectBrokerChange(c) /\ UNCHANGED log_vars
InitLeader(c) == Metadata!InitLeader(c) /\ UNCHANGED log_vars
ElectLeader(c) == Metadata!ElectLeader(c) /\ UNCHANGED log_vars
PublishDecision(c) == Metadata!PublishDecision(c) /\ UNCHANGED log_vars
SendLeaderAndIsr(c) == Metadata!SendLeaderAndIsr(c) /\ UNCHANGED log_vars
ExpireSession == Metadata!ExpireSession /\ UNCHANGED log_vars
LoseReply == Metadata!LoseReply /\ UNCHANGED log_vars
LoseRequest == Metadata!LoseRequest /\ UNCHANGED log_vars

-----------------------------------------------------------------------------
Next ==
    \/ CreateTopic
    \/ \E b \in Brokers : RegisterBroker(b)
    \/ \E c \in Controllers : ElectController(c)
    \/ \E c \in Controllers : ResignController(c)
    \/ \E b \in Brokers : LearnController(b)
    \/ \E c \in Controllers : DetectBrokerChange(c)
    \/ \E c \in Controllers : InitLeader(c)
    \/ \E c \in Controllers : ElectLeader(c)
    \/ \E c \in Controllers : PublishDecision(c)
    \/ \E c \in Controllers : SendLeaderAndIsr(c)
    \/ \E b \in Brokers : BecomeLeader(b)
    \/ \E b \in Brokers : BecomeFollower(b)
    \/ \E b \in Brokers : TruncateLog(b)
    \/ \E b \in Brokers : LeaderAppend(b)
    \/ \E l, f \in Brokers : ServeFetch(l, f)
    \/ \E f \in Brokers : FollowerAppend(f)
    \/ \E l \in Brokers : AdvanceHighWatermark(l)
    \/ \E l, f \in Brokers : ShrinkIsr(l, f)
    \/ \E l, f \in Brokers : ExpandIsr(l, f)
    \/ \E l \in Brokers : AdoptIsr(l)
    \/ \E l \in Brokers : FenceLeader(l)
    \/ \E b \in Brokers : CrashBroker(b)
    \/ \E b \in Brokers : RestartBroker(b)
    \/ ExpireSession
    \/ LoseReply
    \/ LoseRequest
    \/ LoseMessage
    \/ DuplicateMessage

-----------------------------------------------------------------------------
Holds(b, entry) == HasRecord(Records(b), entry.offset, entry.record)

(* Every committed record is on every broker that a clean election may pick. *)
\* @req REPL-004
CommittedDurable ==
    \A entry \in committed : \A b \in Metadata!State.isr : Holds(b, entry)

(* Every acknowledged record is on every broker that a clean election may    *)
(* pick.                                                                     *)
\* @req REPL-008
AcknowledgedDurable ==
    \A entry \in acknowledged : \A b \in Metadata!State.isr : Holds(b, entry)

(* The broker that ZooKeeper names as leader, leading under that epoch, has  *)
(* every committed record.                                                   *)
\* @req REPL-004
LeaderComplete ==
    \A b \in Brokers : Metadata!IsActingLeader(b) => \A entry \in committed : Holds(b, entry)

(* Two logs agree below the smaller high watermark. *)
\* @req REPL-005
LogMatching ==
    \A b, other \in Brokers :
        CommonPrefix(Records(b), Records(other)) >=
            Min({logs[b].high_watermark, logs[other].high_watermark,
                 EndOffset(b), EndOffset(other)})

(* No replica claims to have committed more than it has. *)
\* @req REPL-003
HighWatermarkInLog == \A b \in Brokers : logs[b].high_watermark <= EndOffset(b)

(* While a broker leads under one epoch, its high watermark does not fall.   *)
\* @req REPL-002
HighWatermarkMonotonic ==
    [][\A b \in Brokers :
          (/\ IsLeading(b) /\ IsLeading(b)'
           /\ replicas[b].leader_epoch = replicas'[b].leader_epoch) =>
              logs'[b].high_watermark >= logs[b].high_watermark]_vars

OneLeaderPerEpoch == Metadata!OneLeaderPerEpoch
OnlyAuthorisedWrites == Metadata!OnlyAuthorisedWrites
OneControllerPerEpoch == Metadata!OneControllerPerEpoch
StaleControllerHarmless == Metadata!StaleControllerHarmless
LeaderInIsr == Metadata!LeaderInIsr
QuorumSuperset == Metadata!QuorumSuperset
=============================================================================
