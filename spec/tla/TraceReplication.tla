-------------------------- MODULE TraceReplication --------------------------
(* A recorded run is a behaviour of `Replication`: each event is its event   *)
(* guard, an action of the spec, and equality of every logged field with the *)
(* spec's state. `spec/replay` writes the run as a constant, and README.md   *)
(* ("The replay") tells what is compared and what is not.                    *)
(*                                                                           *)
(* The actions are those of the spec with what it leaves to chance filled in *)
(* from the line, and are more general in three ways: a line may tell of     *)
(* something that happened earlier, several records move in one step, and    *)
(* what is sent may arrive any number of times.                              *)
EXTENDS TraceSegment

-----------------------------------------------------------------------------
(* Processes *)

(* Where a log on disk is not as the trace has it, the process died between  *)
(* a write and its line: one TruncateLog, FollowerAppend or LeaderAppend.    *)
(* What a dead leader wrote last is known if a follower ever fetched it.     *)
RecoveredLogs(b, end) ==
    LET log == Records(b)
        is_follower == replicas[b].role = "follower"
        fetched == {tenure \in LedLogs(b) : end <= Len(tenure.records)}
        written == [i \in DOMAIN Event.values |->
                        [leader_epoch |-> replicas[b].leader_epoch, value |-> Event.values[i]]]
    IN IF end = Len(log) THEN {log}
       ELSE IF end < Len(log)
            THEN IF is_follower /\ IsCut(b, end) THEN {Truncated(log, end)} ELSE {}
       ELSE IF is_follower
            THEN {log \o SubSeq(tenure.records, Len(log) + 1, end) : tenure \in fetched}
       ELSE IF IsLeading(b) /\ Len(log \o written) = end THEN {log \o written}
       ELSE {}

(* A disk lost the last records, and a leader had answered with them.        *)
IsLoss(b, end) == Event.is_forgetful /\ end < EndOffset(b)
FoundLogs(b, end) ==
    IF IsLoss(b, end) THEN {SubSeq(Records(b), 1, end)} ELSE RecoveredLogs(b, end)

(* What is on disk when a process has died, seen when it begins again: all   *)
(* records, and an earlier high watermark. What a leader answered before is  *)
(* of its tenure, with the high watermark that it had; it leads no more.     *)
LogRecovered ==
    LET b == Event.broker_id
        end == EndTold
    IN /\ Is("LogRecovered")
       /\ HighWatermarkTold \in 0 .. Min({logs[b].high_watermark, end})
       /\ \E log \in FoundLogs(b, end) :
             /\ logs' = [logs EXCEPT ![b].records = log,
                                     ![b].high_watermark = HighWatermarkTold]
             /\ agreed' = AgreementAfter(b, log, Min({end, EndOffset(b)}))
             /\ tenures' = EndedTenures(b, IF IsLoss(b, end) THEN Records(b) ELSE log)
       /\ replicas' = [replicas EXCEPT ![b] = Metadata!StoppedReplica("starting")]
       /\ UNCHANGED <<znodes, controllers, messages, breaches>>
       /\ UNCHANGED history_vars
       /\ UNCHANGED <<obeyed, requests, committed_log>>

(* A process begins. If it is not the broker's first, the one before has     *)
(* crashed since its last line, and the trace does not say when: CrashBroker *)
(* and RestartBroker are one step. Without a log on disk there was none, or  *)
(* the disk has lost it all.                                                 *)
NodeStarted ==
    LET b == Event.broker_id
        end == IF Event.is_recovered THEN EndOffset(b) ELSE 0
        records == SubSeq(Records(b), 1, end)
    IN /\ Is("NodeStarted")
       /\ Holding(end = EndOffset(b) \/ Event.is_forgetful)
       /\ replicas' = [replicas EXCEPT ![b] = Metadata!StoppedReplica("starting")]
       /\ controllers' = [controllers EXCEPT ![b] = Metadata!IdleController]
       /\ tenures' = IF Event.is_recovered THEN tenures ELSE EndedTenures(b, Records(b))
       /\ logs' = [logs EXCEPT ![b].records = records,
                               ![b].high_watermark = Min({@, end}),
                               ![b].is_truncated = FALSE, ![b].epoch_start = 0,
                               ![b].end_offsets = NoEndOffsets]
       /\ agreed' = AgreementAfter(b, records, end)
       /\ failures' = IF failures[b] = "none" THEN failures ELSE [failures EXCEPT ![b] = "before"]
       /\ UNCHANGED <<znodes, messages, breaches, obeyed, requests, committed_log>>
       /\ UNCHANGED <<past, topics, offices, registrations, live_epochs, departures, floors, views>>

(* The replica serves no request until it starts again; as far as others can *)
(* tell it is slow. What it did before may still be on its way.              *)
LogFailed ==
    /\ Is("LogFailed")
    /\ failures' = [failures EXCEPT ![Event.broker_id] = "now"]
    /\ UNCHANGED belief_vars
    /\ UNCHANGED <<past, topics, offices, registrations, live_epochs, departures, floors, views>>
    /\ UNCHANGED record_vars

-----------------------------------------------------------------------------
(* Commands *)

(* The command was sent, is newer than what the broker knows, and stays: it  *)
(* may come again.                                                           *)
Obey(b, role, isr) ==
    LET command == Command(Event.controller_id, b)
    IN /\ command \in messages
       /\ has_read[b]
       /\ Holding(Metadata!IsObeyed(b, command))
       /\ HighWatermarkTold = logs[b].high_watermark
       /\ EndTold = EndOffset(b)
       /\ replicas' = [replicas EXCEPT
                        ![b] = [Metadata!StoppedReplica(role) EXCEPT
                                    !.leader = Event.leader,
                                    !.leader_epoch = Event.leader_epoch,
                                    !.isr = isr,
                                    !.znode_version = Event.znode_version,
                                    !.controller_epoch = Event.controller_epoch,
                                    !.heard = Metadata!Heard(b, Event.leader_epoch,
                                                             Event.controller_epoch)]]
       /\ tenures' = EndedTenures(b, Records(b))
       /\ obeyed' = [obeyed EXCEPT ![b] = Event.controller_epoch]
       /\ Metadata!Breach("StaleControllerHarmless", b, Metadata!IsStale(b, command))
       /\ UNCHANGED <<znodes, controllers, messages>>
       /\ UNCHANGED history_vars

BecomeLeaderSeen ==
    LET b == Event.broker_id
        chosen == ResumedBy(b, Event.leader_epoch)
    IN /\ Is("BecomeLeader")
       /\ Event.leader = b
       /\ Obey(b, "leader", Event.isr)
       /\ logs' = [logs EXCEPT ![b].is_truncated = TRUE, ![b].epoch_start = EndOffset(b),
                               ![b].end_offsets = NoEndOffsets]
       /\ committed_log' = chosen
       /\ agreed' = IF chosen = committed_log THEN agreed ELSE AgreementOnMore(chosen)
       /\ UNCHANGED requests

BecomeFollowerSeen ==
    LET b == Event.broker_id
    IN /\ Is("BecomeFollower")
       /\ Event.leader # b
       /\ Obey(b, "follower", {})
       /\ logs' = [logs EXCEPT ![b].is_truncated = FALSE, ![b].epoch_start = 0,
                               ![b].end_offsets = NoEndOffsets]
       /\ requests' = NewRequests(b, Event.leader, Event.leader_epoch)
       /\ UNCHANGED <<committed_log, agreed>>

IsLastCut(b) ==
    \/ truncation = "high_watermark"
    \/ \E tenure \in LedLogs(b) : Cut(Records(b), tenure.records).is_settled

TruncateLogSeen ==
    LET b == Event.broker_id
        records == Truncated(Records(b), OffsetTold)
        last == Len(requests[b])
    IN /\ Is("TruncateLog")
       /\ replicas[b].role = "follower"
       /\ Event.leader_epoch = replicas[b].leader_epoch
       /\ OffsetTold < EndOffset(b)
       /\ Holding(IsCut(b, OffsetTold))
       /\ EndTold = OffsetTold
       /\ HighWatermarkTold = Min({logs[b].high_watermark, OffsetTold})
       /\ logs' = [logs EXCEPT ![b].records = records, ![b].high_watermark = HighWatermarkTold,
                               ![b].is_truncated = IsLastCut(b)]
       /\ agreed' = AgreementAfter(b, records, OffsetTold)
       /\ requests' = [requests EXCEPT ![b][last].from = OffsetTold,
                                       ![b][last].to = OffsetTold,
                                       ![b][last].answered = Unknown]
       /\ UNCHANGED belief_vars
       /\ UNCHANGED history_vars
       /\ UNCHANGED <<tenures, obeyed, committed_log>>

-----------------------------------------------------------------------------
(* Records *)

NewRecords ==
    [i \in DOMAIN Event.values |->
        [leader_epoch |-> Event.record_epochs[i], value |-> Event.values[i]]]

(* The records of the event are appended at its offset. *)
Appends(b, high_watermark) ==
    LET records == Records(b) \o NewRecords
    IN /\ Event.leader_epoch = replicas[b].leader_epoch
       /\ EndTold = Len(records)
       /\ HighWatermarkTold = high_watermark
       /\ logs' = [logs EXCEPT ![b].records = records, ![b].high_watermark = high_watermark,
                               ![b].is_truncated = TRUE]
       /\ agreed' = AgreementAfter(b, records, EndOffset(b))
       /\ UNCHANGED belief_vars
       /\ UNCHANGED history_vars

(* One step for all records of a request. *)
LeaderAppendSeen ==
    LET b == Event.broker_id
    IN /\ Is("LeaderAppend")
       /\ IsLeading(b)
       /\ Event.values # <<>>
       /\ Len(Event.record_epochs) = Len(Event.values)
       /\ OffsetTold = EndOffset(b)
       /\ \A i \in DOMAIN Event.values : Event.record_epochs[i] = replicas[b].leader_epoch
       /\ Appends(b, logs[b].high_watermark)
       /\ UNCHANGED <<tenures, obeyed, requests, committed_log>>

(* A request is answered late, repeatedly and out of order: its offset is    *)
(* one at which the follower's log ended since it follows this leader. While *)
(* the follower has not cut its log it asks for nothing: such a request is   *)
(* one that it sent before it obeyed its present command. A leader that is   *)
(* fenced commits nothing and still answers.                                 *)
ServeFetchSeen ==
    LET l == Event.broker_id
        f == Event.peer
        is_asking == IsAskingNow(f, l, Event.leader_epoch)
        is_late == is_asking /\ ~MayFetch(f)
        last == Len(requests[f]) - (IF is_late THEN 1 ELSE 0)
    IN /\ Is("ServeFetch")
       /\ IsServing(l)
       /\ f \in Brokers \ {l}
       /\ Event.leader_epoch = replicas[l].leader_epoch
       /\ OffsetTold \in 0 .. EndOffset(l)
       /\ Holding(HasRequested(f, l, Event.leader_epoch, OffsetTold, last))
       /\ logs' = [logs EXCEPT ![l].end_offsets[f] = OffsetTold,
                               ![f].is_truncated = @ \/ (is_asking /\ ~is_late)]
       /\ requests' = IF is_asking /\ ~is_late /\ IsFirstAnswer(f, OffsetTold)
                      THEN [requests EXCEPT ![f][last].answered = OffsetTold,
                                            ![f][last].high_watermark = logs[l].high_watermark]
                      ELSE requests
       /\ UNCHANGED belief_vars
       /\ UNCHANGED history_vars
       /\ UNCHANGED <<tenures, obeyed, committed_log, agreed>>

(* A follower that obeys another epoch than its leader has not heard, or has *)
(* heard, of the newest one.                                                 *)
RefuseFetchSeen ==
    LET l == Event.broker_id
        f == Event.peer
        epoch == replicas[l].leader_epoch
    IN /\ Is("RefuseFetch")
       /\ truncation = "leader_epoch"
       /\ IsServing(l)
       /\ f \in Brokers \ {l}
       /\ CASE Event.error_code = "FENCED_LEADER_EPOCH" -> Event.leader_epoch < epoch
            [] Event.error_code = "UNKNOWN_LEADER_EPOCH" -> Event.leader_epoch > epoch
            [] OTHER -> FALSE
       /\ Holding(HasRequested(f, l, Event.leader_epoch, OffsetTold, Len(requests[f])))
       /\ UNCHANGED belief_vars
       /\ UNCHANGED history_vars
       /\ UNCHANGED record_vars

(* The answer is not in the trace. Its records are the leader's at that      *)
(* offset, and its high watermark is one that the leader had since it heard  *)
(* of this offset.                                                           *)
IsAnswer(f, tenure) ==
    LET end == EndTold
        told == requests[f][Len(requests[f])].high_watermark
    IN /\ end <= Len(tenure.records)
       /\ SubSeq(tenure.records, OffsetTold + 1, end) = NewRecords
       /\ HighWatermarkTold <= tenure.high_watermark
       /\ HighWatermarkTold >= Min({told, end})

FollowerAppendSeen ==
    LET f == Event.broker_id
        last == Len(requests[f])
    IN /\ Is("FollowerAppend")
       /\ replicas[f].role = "follower"
       /\ replicas[f].leader \in Brokers
       /\ Len(Event.record_epochs) = Len(Event.values)
       /\ OffsetTold = EndOffset(f)
       /\ Holding(MayFetch(f))
       /\ Holding(\E tenure \in LedLogs(f) : IsAnswer(f, tenure))
       /\ HighWatermarkTold <= EndTold
       /\ Appends(f, HighWatermarkTold)
       /\ requests' = [requests EXCEPT ![f][last].to = EndTold]
       /\ UNCHANGED <<tenures, obeyed, committed_log>>

AdvanceHighWatermarkSeen ==
    LET l == Event.broker_id
        new == Min({ReachedBy(l, f) : f \in Quorum(l) \cup {l}})
        chosen == CommittedBy(l, replicas[l].leader_epoch, new)
    IN /\ Is("AdvanceHighWatermark")
       /\ IsLeading(l)
       /\ Event.leader_epoch = replicas[l].leader_epoch
       /\ Event.isr = replicas[l].isr
       /\ Event.maximal_isr = Metadata!MaximalIsr(l)
       /\ EndTold = EndOffset(l)
       /\ new > logs[l].high_watermark
       /\ HighWatermarkTold = new
       /\ logs' = [logs EXCEPT ![l].high_watermark = new]
       /\ committed_log' = chosen
       /\ agreed' = AgreementOnMore(chosen)
       /\ UNCHANGED belief_vars
       /\ UNCHANGED history_vars
       /\ UNCHANGED <<tenures, obeyed, requests>>

(* A producer that asked for all is told that its records are safe, by a     *)
(* leader of the epoch that it names. They are of that epoch, or of one      *)
(* before it: an idempotent producer may have asked again. A leader of before*)
(* the last loss has committed them in its own log.                          *)
AcknowledgeSeen ==
    LET end == OffsetTold + Len(Event.values)
        led == {tenure \in UNION {Tenures(b) : b \in Brokers} :
                    tenure.leader_epoch = Event.leader_epoch}
        holds(log) ==
            \A i \in DOMAIN Event.values :
                LET entry == log[OffsetTold + i]
                IN entry.value = Event.values[i] /\ entry.leader_epoch <= Event.leader_epoch
    IN /\ Is("Acknowledge")
       /\ OffsetTold >= 0
       /\ IF IsOfBefore(Event.leader_epoch)
          THEN \E tenure \in led : end <= tenure.high_watermark /\ holds(tenure.records)
          ELSE led # {} /\ end <= Len(committed_log) /\ holds(committed_log)
       /\ UNCHANGED belief_vars
       /\ UNCHANGED history_vars
       /\ UNCHANGED record_vars

-----------------------------------------------------------------------------
(* The ISR *)

AsksIsr(b) ==
    /\ IsLeading(b)
    /\ replicas[b].pending_isr = <<>>
    /\ Event.leader_epoch = replicas[b].leader_epoch
    /\ Event.expected_version = replicas[b].znode_version
    /\ Event.maximal_isr = replicas[b].isr \cup Event.isr
    /\ replicas' = [replicas EXCEPT ![b].pending_isr = <<Event.isr>>]
    /\ UNCHANGED <<znodes, controllers, messages, breaches>>
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

(* Several at once. *)
ShrinkIsrSeen ==
    LET b == Event.broker_id
    IN /\ Is("ShrinkIsr")
       /\ Event.isr \subseteq replicas[b].isr
       /\ Event.isr # replicas[b].isr
       /\ b \in Event.isr
       /\ AsksIsr(b)

ExpandIsrSeen ==
    LET b == Event.broker_id
        joining == Event.isr \ replicas[b].isr
    IN /\ Is("ExpandIsr")
       /\ replicas[b].isr \subseteq Event.isr
       /\ joining # {}
       /\ HasVersion(replicas[b].znode_version)
       /\ joining \subseteq past[replicas[b].znode_version + 1].assigned
       /\ \A f \in joining : IsCaughtUp(b, f)
       /\ AsksIsr(b)

(* The leader hears that its write took effect, or reads it back; another    *)
(* may have replaced it since.                                               *)
AdoptIsrHeard ==
    LET b == Event.broker_id
        version == Event.znode_version
    IN /\ Is("AdoptIsr")
       /\ IsLeading(b)
       /\ replicas[b].is_reply_lost
       /\ Event.leader_epoch = replicas[b].leader_epoch
       /\ replicas[b].pending_isr = <<Event.isr>>
       /\ Event.maximal_isr = Event.isr
       /\ version = replicas[b].znode_version + 1
       /\ HasVersion(version)
       /\ PastState(version).leader = b
       /\ PastState(version).leader_epoch = Event.leader_epoch
       /\ PastState(version).isr = Event.isr
       /\ replicas' = Metadata!Settled(b, Event.isr, version)
       /\ UNCHANGED <<znodes, controllers, messages, breaches>>
       /\ UNCHANGED history_vars
       /\ UNCHANGED record_vars

FenceLeaderHeard ==
    LET b == Event.broker_id
    IN /\ Is("FenceLeader")
       /\ Event.leader_epoch = replicas[b].leader_epoch
       /\ Event.znode_version = replicas[b].znode_version
       /\ Event.isr = replicas[b].isr
       /\ Event.maximal_isr = replicas[b].isr
       /\ Metadata!FenceLeader(b)
       /\ UNCHANGED history_vars
       /\ UNCHANGED record_vars

-----------------------------------------------------------------------------
(* The records of a partition move most often. *)
RecordStep ==
    \/ LeaderAppendSeen
    \/ ServeFetchSeen
    \/ RefuseFetchSeen
    \/ FollowerAppendSeen
    \/ AdvanceHighWatermarkSeen
    \/ AcknowledgeSeen

RecordActions ==
    {"LeaderAppend", "ServeFetch", "RefuseFetch", "FollowerAppend", "AdvanceHighWatermark",
     "Acknowledge"}

RoleStep ==
    \/ NodeStarted
    \/ LogRecovered
    \/ LogFailed
    \/ BecomeLeaderSeen
    \/ BecomeFollowerSeen
    \/ TruncateLogSeen
    \/ ShrinkIsrSeen
    \/ ExpandIsrSeen
    \/ AdoptIsrHeard
    \/ FenceLeaderHeard

TraceStep ==
    /\ at <= Len(Events)
    /\ IF Event.action \in RecordActions THEN RecordStep ELSE MetadataStep \/ ToldStep \/ RoleStep

LineStep ==
    /\ TraceStep
    /\ Hear
    /\ at' = at + 1
    /\ UNCHANGED <<run, base>>
    /\ UNCHANGED network_vars

TraceNext == IF MayForget THEN Forget /\ UNCHANGED heard_vars ELSE LineStep

-----------------------------------------------------------------------------
(* What must hold on the way. These are the invariants of `Replication`, of  *)
(* which those about records are written for a log that only grows: to have  *)
(* the committed records is to agree with the committed log to its end.      *)

HasCommitted(b) == agreed[b] = Len(committed_log)

TraceCommittedDurable ==
    \/ ~Metadata!Exists(znodes, Metadata!StatePath)
    \/ \A b \in Metadata!State.isr : HasCommitted(b) \/ b \in forgotten
TraceLeaderComplete == \A b \in Brokers : Metadata!IsActingLeader(b) => HasCommitted(b)
TraceLogMatching ==
    \A b \in Brokers : logs[b].high_watermark <= agreed[b] \/ b \in estranged

RecordsViolated ==
    (IF TraceCommittedDurable THEN {} ELSE {"CommittedDurable"})
    \cup (IF TraceLeaderComplete THEN {} ELSE {"LeaderComplete"})
    \cup (IF TraceLogMatching THEN {} ELSE {"LogMatching"})

BeliefsViolated ==
    (IF OneLeaderPerEpoch THEN {} ELSE {"OneLeaderPerEpoch"})
    \cup (IF OnlyAuthorisedWrites THEN {} ELSE {"OnlyAuthorisedWrites"})
    \cup (IF OneControllerPerEpoch THEN {} ELSE {"OneControllerPerEpoch"})
    \cup (IF StaleControllerHarmless THEN {} ELSE {"StaleControllerHarmless"})
    \cup (IF LeaderInIsr THEN {} ELSE {"LeaderInIsr"})
    \cup (IF QuorumSuperset THEN {} ELSE {"QuorumSuperset"})

(* A line about records leaves `belief_vars` as they were, and most lines    *)
(* are about records: what depends on those alone is not asked again. At the *)
(* end of a run everything is.                                               *)
IsAboutRecords == at \in 2 .. Len(Events) /\ Events[at - 1].action \in RecordActions

Violated == RecordsViolated \cup (IF IsAboutRecords THEN {} ELSE BeliefsViolated)

(* `Replication` itself violates these with what a level does not have:      *)
(* truncation by epochs, and controller epochs, which rise.                  *)
NotPromised ==
    (IF truncation = "leader_epoch" THEN {}
     ELSE {"CommittedDurable", "LeaderComplete", "LogMatching"})
    \cup (IF Metadata!RaisedControllerEpoch > Metadata!CurrentControllerEpoch THEN {}
          ELSE {"OneControllerPerEpoch", "StaleControllerHarmless"})

(* As a CONSTRAINT: tells what was found, and does not go on behind it.      *)
Watch ==
    LET violated == Violated \ NotPromised
    IN IF violated # {} THEN PrintT(<<"violated", run, at - 1, violated>>) /\ FALSE
       ELSE IF at > Len(Events) THEN PrintT(ToldAtEnd(Violated)) /\ FALSE
       ELSE TRUE
=============================================================================
