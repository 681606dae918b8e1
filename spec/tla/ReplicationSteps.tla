-------------------------- MODULE ReplicationSteps --------------------------
(* What one step of `Replication` may do to a log and to what is known of it,*)
(* whichever action takes it. `LeaderAndIsrSteps` says the same of the state *)
(* and of roles.                                                             *)
EXTENDS ReplicationLiveness

IsStopped(role) == role \in {"down", "starting", "idle"}

StoppedLog(log) ==
    [log EXCEPT !.is_truncated = FALSE, !.epoch_start = 0, !.end_offsets = NoEndOffsets]

(* A replica without a role knows its records and its high watermark; what   *)
(* followers hold is known to leaders. A leader's log is never to be cut, and*)
(* has the start of its epoch in it.                                         *)
\* @req START-001
\* @req REPL-002
RoleTellsMemory ==
    \A b \in Brokers : LET log == logs[b] role == replicas[b].role IN
        /\ IsStopped(role) => log = StoppedLog(log)
        /\ role = "follower" => log.epoch_start = 0 /\ log.end_offsets = NoEndOffsets
        /\ role \in {"leader", "fenced"} => log.is_truncated /\ log.epoch_start <= EndOffset(b)

(* A follower that has cut its log, and its leader under their epoch.        *)
IsInUse(f) == replicas[f].role = "follower" /\ logs[f].is_truncated
IsFollowedBy(l, f) ==
    /\ replicas[f].role = "follower" /\ replicas[l].role = "leader"
    /\ replicas[f].leader = l /\ replicas[f].leader_epoch = replicas[l].leader_epoch

(* An answer is on its way only to the follower that asked, under the leader *)
(* that answered, and only one of them is not a copy.                        *)
\* @req REPL-001
AnswersAreAwaited ==
    \A answer \in fetches : LET f == answer.to IN
        /\ IsInUse(f)
        /\ replicas[f].leader = answer.from
        /\ replicas[f].leader_epoch = answer.leader_epoch
        /\ answer.offset <= EndOffset(f)
        /\ \A other \in fetches : (other.to = f /\ other.copy = answer.copy /\ answer.copy = 1) =>
            other = answer

(* A replica takes for committed what a leader has committed, and what is    *)
(* acknowledged is.                                                          *)
\* @req REPL-003
HighWatermarkIsCommitted ==
    /\ acknowledged \subseteq committed
    /\ \A b \in Brokers : \A offset \in 0 .. logs[b].high_watermark - 1 :
        AtOffset(b, offset) \in committed

(* Has the replica been given a role, or a leader, by a command?             *)
IsToldBy(now, next) ==
    /\ next.role \in {"leader", "follower"}
    /\ now.role # next.role \/ now.leader_epoch # next.leader_epoch \/ now.leader # next.leader

(* A new role, or leader, finds the records as they are. A leader's epoch    *)
(* starts at their end, and a follower is to cut its log before it fetches.  *)
\* @req CMD-005
\* @req ISR-002
RolesStartAnew ==
    [][\A b \in Brokers : LET log == logs'[b] IN IsToldBy(replicas[b], replicas'[b]) =>
        /\ log.records = Records(b)
        /\ log.high_watermark = logs[b].high_watermark
        /\ log.end_offsets = NoEndOffsets
        /\ log.is_truncated <=> replicas'[b].role = "leader"
        /\ replicas'[b].role = "leader" => log.epoch_start = EndOffset(b)]_vars

(* One step cuts the log of a follower, to what its leader has of it and no  *)
(* further, as soon as it has one. From then on both ends move by an append. *)
\* @req CMD-005
CutOnce ==
    [][\A b \in Brokers : LET now == logs[b] next == logs'[b] l == replicas[b].leader IN
        (/\ replicas[b].role = "follower"
         /\ replicas' = replicas
         /\ now # next
         /\ ~now.is_truncated) =>
            /\ IsFollowedBy(l, b)
            /\ next.is_truncated
            /\ next.records = SubSeq(now.records, 1, CommonPrefix(now.records, Records(l)))
            /\ next.high_watermark = Min({now.high_watermark, Len(next.records)})]_vars

(* A log in use grows by a record at its end: a leader's by one of its epoch,*)
(* a follower's by what it was answered, under the offset that it asked for. *)
\* @req REPL-001
\* @req REPL-003
LogsGrow ==
    [][\A b \in Brokers : LET now == logs[b] next == logs'[b] role == replicas[b].role IN
        /\ next.records # now.records => role \in {"leader", "follower"}
        /\ role = "leader" /\ next.records # now.records =>
            /\ Len(next.records) = Len(now.records) + 1
            /\ SubSeq(next.records, 1, Len(now.records)) = now.records
            /\ next = [now EXCEPT !.records = next.records]
            /\ next.records[Len(next.records)].leader_epoch = replicas[b].leader_epoch
        /\ role = "follower" /\ now.is_truncated /\ next # now /\ replicas'[b] = replicas[b] =>
            \E answer \in fetches \ fetches' :
                /\ answer.to = b
                /\ answer.offset = Len(now.records)
                /\ next.records = now.records \o answer.records
                /\ next.high_watermark = Min({answer.high_watermark, Len(next.records)})]_vars

(* What is new in flight is what its leader has, from where the follower's   *)
(* log ends, or a copy that is counted. The leader knows then how far that   *)
(* is, and learns it in no other way.                                        *)
\* @req REPL-001
\* @req REPL-002
AnswersTellWhatIs ==
    [][/\ \A answer \in fetches' \ fetches : LET l == answer.from f == answer.to IN
            IF answer.copy = 2 THEN [answer EXCEPT !.copy = 1] \in fetches
                                    /\ budget'["duplicates"] < budget["duplicates"]
            ELSE /\ l # f /\ IsInUse(f) /\ IsFollowedBy(l, f)
                 /\ answer.leader_epoch = replicas[l].leader_epoch
                 /\ answer.offset = EndOffset(f)
                 /\ answer.high_watermark = logs[l].high_watermark
                 /\ answer.records = SubSeq(Records(l), EndOffset(f) + 1,
                                            Min({EndOffset(f) + 1, EndOffset(l)}))
                 /\ logs'[l].end_offsets[f] = EndOffset(f)
       /\ \A l, f \in Brokers : LET offset == logs'[l].end_offsets[f] IN
            offset \notin {logs[l].end_offsets[f], Unknown} =>
                offset = EndOffset(f) /\ IsInUse(f) /\ IsFollowedBy(l, f)
       /\ \A answer \in fetches \ fetches' : LET f == answer.to IN
            \/ replicas'[f] # replicas[f]
            \/ Records(f) \o answer.records = logs'[f].records
                /\ answer.offset = EndOffset(f) /\ fetches' = fetches \ {answer}
            \/ budget'["losses"] < budget["losses"] /\ fetches' = fetches \ {answer}
            \/ answer.copy = 1 /\ \E other \in fetches' \ fetches :
                other.to = f /\ other.copy = 1]_vars

(* A leader commits what all have that it waits for, as far as they have it, *)
(* and does so without more. What it then may acknowledge it does.           *)
\* @req REPL-002
\* @req REPL-008
LeadersCommit ==
    [][/\ \A l \in Brokers : LET next == logs'[l] IN
            /\ IsLeading(l) /\ next.high_watermark > logs[l].high_watermark =>
                /\ next = [logs[l] EXCEPT !.high_watermark = next.high_watermark]
                /\ \A f \in Metadata!MaximalIsr(l) \ {l} :
                    next.high_watermark <= next.end_offsets[f]
                /\ \/ next.high_watermark = EndOffset(l)
                   \/ \E f \in Metadata!MaximalIsr(l) : next.high_watermark = next.end_offsets[f]
                /\ \A offset \in 0 .. next.high_watermark - 1 :
                    Cardinality(replicas[l].isr) >= MinInsyncReplicas =>
                        AtOffset(l, offset) \in acknowledged'
       /\ committed' # committed => \E l \in Brokers :
            IsLeading(l) /\ logs'[l].high_watermark > logs[l].high_watermark
       /\ acknowledged' # acknowledged => \E l \in Brokers :
            IsLeading(l) /\ logs'[l].high_watermark > logs[l].high_watermark]_vars

(* What a bound allows changes something else than what is left of it; a     *)
(* record is one record, and every other step leaves the logs as they are.   *)
BoundedStepsHaveEffect ==
    [][/\ budget' # budget =>
            <<znodes, controllers, replicas, messages, logs, fetches>>'
                # <<znodes, controllers, replicas, messages, logs, fetches>>
       /\ budget'["records"] # budget["records"] <=>
            \E l \in Brokers : IsLeading(l) /\ EndOffset(l)' > EndOffset(l)
       /\ znodes' # znodes => <<logs, fetches, committed, acknowledged>>'
            = <<logs, fetches, committed, acknowledged>>]_vars
=============================================================================
