------------------------------- MODULE Cluster ------------------------------
(* One cluster with all its features at once: records and truncation, broker *)
(* epochs and lost log ends, controllers that are deposed, reassignment,     *)
(* topics that are deleted and created again, min.insync.replicas, and       *)
(* failovers of several partitions in one multi, all on one tree of znodes.  *)
(* The modules of one concern say why each rule is as it is, and are         *)
(* searched exhaustively; this one is for what the features do to each       *)
(* other. Sessions, network and fairness are as in those.                    *)
EXTENDS ClusterControl

-----------------------------------------------------------------------------
(* Brokers come, go and lose what they had not flushed *)

(* The process stops. If the machine stops too, the ends of its logs may be  *)
(* lost. The registration lives on until the session ends.                   *)
CrashBroker(b) ==
    /\ brokers[b].is_up
    /\ Spend("crashes")
    /\ \E lost \in 0 .. Limits["lost_records"] :
        LET kept(p) == [logs[b][p] EXCEPT
                            !.records = SubSeq(@, 1, Len(@) - Min({lost, Len(@)})),
                            !.is_truncated = FALSE, !.epoch_start = 0, !.end_offsets = NoOffsets]
        IN logs' = [logs EXCEPT ![b] = [p \in Partitions |->
                        [kept(p) EXCEPT !.high_watermark = Min({@, Len(kept(p).records)})]]]
    /\ brokers' = [brokers EXCEPT ![b] = [is_up |-> FALSE, broker_epoch |-> Unregistered,
                                          controller_epoch |-> 0]]
    /\ replicas' = [replicas EXCEPT ![b] = [p \in Partitions |-> NoReplica]]
    /\ fetches' = {answer \in fetches : answer.to # b}
    /\ UNCHANGED <<zookeeper_vars, controllers, messages, history_vars>>

(* The process runs again, without session. The high watermarks come from a  *)
(* checkpoint, which may be any earlier one.                                 *)
RestartBroker(b) ==
    /\ ~brokers[b].is_up
    /\ brokers' = [brokers EXCEPT ![b].is_up = TRUE]
    /\ \E is_old \in BOOLEAN :
        logs' = [logs EXCEPT ![b] = [p \in Partitions |->
                    [@[p] EXCEPT !.high_watermark = IF is_old THEN 0 ELSE @]]]
    /\ UNCHANGED <<zookeeper_vars, controllers, replicas, network_vars, budget, history_vars>>

(* A starting broker keeps a directory of this incarnation of the topic, if  *)
(* it is assigned; so are the ISR and the leader (IsrSubsetAssigned).        *)
IsKept(b, p) == HasTopic /\ logs[b][p].incarnation = Topic.id /\ b \in Topic.assigned[p]

(* What was read of the state at the start: no older command is obeyed.      *)
StartedReplica(p) ==
    [NoReplica EXCEPT
        !.role = "idle", !.incarnation = CurrentTopic,
        !.leader_epoch = IF HasState(p) THEN State(p).leader_epoch ELSE NoEpoch,
        !.version = IF HasState(p) THEN StateVersion(p) ELSE NoVersion]

(* The create fails while the old session lives. A process that starts reads *)
(* what exists before it obeys anything, and deletes the rest; one that goes *)
(* on after its session ended just has another epoch.                        *)
RegisterBroker(b) ==
    LET written == Multi(znodes, <<CreateOp(BrokerPaths[b], <<>>, b)>>, zxid + 1)
        is_start == brokers[b].broker_epoch = Unregistered
    IN /\ brokers[b].is_up
       /\ written.ok
       /\ znodes' = written.tree
       /\ zxid' = zxid + 1
       /\ brokers' = [brokers EXCEPT ![b].broker_epoch = zxid + 1]
       /\ IF ~is_start THEN UNCHANGED <<replicas, logs>>
          ELSE /\ replicas' = [replicas EXCEPT ![b] = [p \in Partitions |-> StartedReplica(p)]]
               /\ logs' = [logs EXCEPT ![b] = [p \in Partitions |->
                            IF IsKept(b, p) THEN @[p] ELSE EmptyLog(NoTopic)]]
       /\ UNCHANGED <<controllers, network_vars, budget, history_vars>>

(* ZooKeeper ends a session: a broker's or a controller's, which goes on.    *)
ExpireSession ==
    /\ \/ \E b \in Brokers :
            /\ Registrations[b] # Unregistered
            /\ IF brokers[b].is_up THEN Spend("expiries") ELSE UNCHANGED budget
            /\ znodes' = [znodes EXCEPT ![BrokerPaths[b]] = Absent]
       \/ /\ Exists(znodes, ControllerPath)
          /\ Spend("controller_expiries")
          /\ znodes' = [znodes EXCEPT ![ControllerPath] = Absent]
    /\ UNCHANGED <<zxid, controllers, broker_vars, network_vars, history_vars>>

-----------------------------------------------------------------------------
(* Brokers obey *)

(* A broker reads which controller epoch is the present one.                 *)
LearnController(b) ==
    /\ brokers[b].broker_epoch # Unregistered
    /\ brokers[b].controller_epoch < znodes[ControllerEpochPath].data
    /\ brokers' = [brokers EXCEPT ![b].controller_epoch = znodes[ControllerEpochPath].data]
    /\ UNCHANGED <<zookeeper_vars, controllers, replicas, logs, network_vars, budget,
                   history_vars>>

(* An older command than those of a controller that the broker knows.        *)
IsDeposedSender(b, m) == m.controller_epoch < brokers[b].controller_epoch

(* Built for this incarnation of the broker (BEP-002, BEP-003).              *)
IsForThisIncarnation(b, m) == m.broker_epoch >= brokers[b].broker_epoch

(* Later than what the replica knows: of a later topic, or of a later leader *)
(* epoch; one that has just started obeys the epoch that it read, unless the *)
(* command is older than the version that it read.                           *)
IsNewer(r, m) ==
    \/ m.incarnation > r.incarnation
    \/ /\ m.incarnation = r.incarnation
       /\ \/ m.leader_epoch > r.leader_epoch
          \/ /\ m.leader_epoch = r.leader_epoch
             /\ r.role = "idle"
             /\ m.version >= r.version

IsHeard(b, m) ==
    /\ m.to = b
    /\ brokers[b].broker_epoch # Unregistered
    /\ ~IsDeposedSender(b, m)
    /\ IsForThisIncarnation(b, m)

IsObeyed(b, m) ==
    /\ m.type = "leader_and_isr"
    /\ IsHeard(b, m)
    /\ IsNewer(replicas[b][m.partition], m)

(* The directory of an older topic is dropped.                               *)
IsOwnDirectory(log, m) == log.incarnation = m.incarnation

LogFor(b, m) ==
    LET log == logs[b][m.partition]
    IN IF IsOwnDirectory(log, m) THEN [log EXCEPT !.incarnation = m.incarnation]
       ELSE EmptyLog(m.incarnation)

(* The fetcher stops before anything else: answers to it are dropped.        *)
AnswersAfterRoleChange(b, p) ==
    {answer \in fetches : answer.to # b \/ answer.partition # p}

ControllerEpochAfter(b, m) == m.controller_epoch

Obey(b, m, role, log) ==
    LET p == m.partition
    IN /\ messages' = messages \ {m}
       /\ brokers' = [brokers EXCEPT ![b].controller_epoch = ControllerEpochAfter(b, m)]
       /\ replicas' = [replicas EXCEPT ![b][p] =
            [NoReplica EXCEPT
                !.role = role, !.incarnation = m.incarnation, !.leader = m.leader,
                !.leader_epoch = m.leader_epoch, !.version = m.version,
                !.isr = IF role = "leader" THEN m.isr ELSE {}]]
       /\ logs' = [logs EXCEPT ![b][p] = log]
       /\ fetches' = AnswersAfterRoleChange(b, p)
       /\ UNCHANGED <<zookeeper_vars, controllers, budget, history_vars>>

(* What followers hold is told by fetches of this epoch alone.               *)
BecomeLeader(b) ==
    \E m \in messages :
        /\ IsObeyed(b, m)
        /\ m.leader = b
        /\ Obey(b, m, "leader",
                [LogFor(b, m) EXCEPT !.is_truncated = TRUE, !.end_offsets = NoOffsets,
                                     !.epoch_start = Len(LogFor(b, m).records)])

BecomeFollower(b) ==
    \E m \in messages :
        /\ IsObeyed(b, m)
        /\ m.leader # b
        /\ Obey(b, m, "follower",
                [LogFor(b, m) EXCEPT !.is_truncated = FALSE, !.end_offsets = NoOffsets,
                                     !.epoch_start = 0])

(* A stop counts if the replica knows nothing later (CMD-008): not of the    *)
(* next topic, nor of an epoch in which it was assigned again.               *)
IsStopped(r, m) ==
    \/ m.incarnation > r.incarnation
    \/ m.incarnation = r.incarnation /\ m.leader_epoch >= r.leader_epoch

MustKeep(b, p) ==
    /\ HasTopic
    /\ logs[b][p].incarnation = Topic.id
    /\ b \in Settled(p) \cup
            (IF HasState(p) THEN {member.broker : member \in {member \in State(p).isr :
                                    member.broker_epoch = brokers[b].broker_epoch}} ELSE {})

(* The directory is deleted.                                                 *)
StopReplica(b) ==
    \E m \in messages :
        LET p == m.partition
        IN /\ m.type = "stop_replica"
           /\ IsHeard(b, m)
           /\ IsStopped(replicas[b][p], m)
           /\ messages' = messages \ {m}
           /\ replicas' = [replicas EXCEPT ![b][p] =
                [NoReplica EXCEPT !.incarnation = m.incarnation, !.leader_epoch = m.leader_epoch]]
           /\ logs' = [logs EXCEPT ![b][p] = EmptyLog(NoTopic)]
           /\ fetches' = AnswersAfterRoleChange(b, p)
           /\ breaches' = breaches \cup Breached("DeleteOnlyIfUnassigned", b, MustKeep(b, p))
           /\ UNCHANGED <<zookeeper_vars, controllers, brokers, budget, committed, acknowledged,
                          held>>

-----------------------------------------------------------------------------
(* Records *)

IsLedBy(f, l, p) ==
    /\ replicas[f][p].role = "follower"
    /\ IsLeading(l, p)
    /\ replicas[f][p].leader = l
    /\ replicas[f][p].incarnation = replicas[l][p].incarnation
    /\ replicas[f][p].leader_epoch = replicas[l][p].leader_epoch

IsFetching(f, p) == replicas[f][p].role = "follower" /\ logs[f][p].is_truncated

SetLogs(after) ==
    /\ logs' = after
    /\ UNCHANGED <<zookeeper_vars, controllers, brokers, replicas, messages>>

(* min.insync.replicas: a produce that waits for all is taken only under an  *)
(* ISR of that size, and is acknowledged only under one (REPL-008).          *)
HasEnoughReplicas(l, p) == Cardinality(replicas[l][p].isr) >= MinInsyncReplicas

(* `incarnation` is history: no rule reads it of a record.                   *)
LeaderAppend(l, p) ==
    LET record == [leader_epoch |-> replicas[l][p].leader_epoch,
                   value |-> Limits["records"] - budget["records"] + 1,
                   incarnation |-> replicas[l][p].incarnation]
    IN /\ IsLeading(l, p)
       /\ HasEnoughReplicas(l, p)
       /\ Spend("records")
       /\ SetLogs([logs EXCEPT ![l][p].records = Append(@, record)])
       /\ held' = held \cup {[broker |-> l, record |-> record]}
       /\ UNCHANGED <<fetches, committed, acknowledged, breaches>>

(* Level 2: where the logs part by epoch (CMD-005).                          *)
TruncationPoint(f, l, p) == TruncationOffset(Records(f, p), Records(l, p))

TruncateLog(f, p) ==
    \E l \in Brokers :
        LET offset == TruncationPoint(f, l, p)
        IN /\ IsLedBy(f, l, p)
           /\ ~logs[f][p].is_truncated
           /\ SetLogs([logs EXCEPT ![f][p].records = Truncated(@, offset),
                                   ![f][p].high_watermark = Min({@, offset}),
                                   ![f][p].is_truncated = TRUE])
           /\ UNCHANGED <<fetches, budget, history_vars>>

(* The leader learns how far this incarnation of the follower is, and        *)
(* answers with at most one record.                                          *)
ServeFetch(l, f, p) ==
    LET answer == [from |-> l, to |-> f, partition |-> p,
                   leader_epoch |-> replicas[f][p].leader_epoch,
                   incarnation |-> replicas[f][p].incarnation, offset |-> EndOffset(f, p),
                   records |-> Read(Records(l, p), EndOffset(f, p), 1),
                   high_watermark |-> logs[l][p].high_watermark]
        reached == [broker_epoch |-> brokers[f].broker_epoch, offset |-> EndOffset(f, p)]
    IN /\ IsLedBy(f, l, p)
       /\ IsFetching(f, p)
       /\ EndOffset(f, p) <= EndOffset(l, p)
       /\ answer \notin fetches \/ logs[l][p].end_offsets[f] # reached
       /\ SetLogs([logs EXCEPT ![l][p].end_offsets[f] = reached])
       /\ fetches' = {other \in fetches : other.to # f \/ other.partition # p} \cup {answer}
       /\ UNCHANGED <<budget, history_vars>>

(* The answer is of the leader that the follower has now, and of its epoch.  *)
IsAwaited(f, answer) ==
    LET r == replicas[f][answer.partition]
    IN /\ answer.from = r.leader
       /\ answer.leader_epoch = r.leader_epoch
       /\ answer.incarnation = r.incarnation

FollowerAppend(f, p) ==
    \E answer \in fetches :
        LET records == Records(f, p) \o answer.records
        IN /\ answer.to = f
           /\ answer.partition = p
           /\ IsFetching(f, p)
           /\ IsAwaited(f, answer)
           /\ answer.offset = EndOffset(f, p)
           /\ SetLogs([logs EXCEPT
                ![f][p].records = records,
                ![f][p].high_watermark = Min({answer.high_watermark, Len(records)})])
           /\ fetches' = fetches \ {answer}
           /\ held' = held \cup {[broker |-> f, record |-> answer.records[i]] :
                                    i \in DOMAIN answer.records}
           /\ UNCHANGED <<budget, committed, acknowledged, breaches>>

(* The ISR and, while a change is in flight, the one that was asked for.     *)
MaximalIsr(l, p) ==
    replicas[l][p].isr \cup
        (IF replicas[l][p].pending_isr = <<>> THEN {} ELSE replicas[l][p].pending_isr[1])

(* What a fetch told of another incarnation of the member does not count.    *)
IsFetchOf(reached, member) == reached.broker_epoch = member.broker_epoch

ReachedBy(l, p, member) ==
    LET reached == logs[l][p].end_offsets[member.broker]
    IN CASE member.broker = l -> EndOffset(l, p)
         [] IsFetchOf(reached, member) -> reached.offset
         [] OTHER -> -1

Entry(p, record, offset) == [partition |-> p, offset |-> offset, record |-> record]

(* The smallest log end offset of the members. Below it all is committed, and *)
(* acknowledged if the leader took it itself and may acknowledge.            *)
AdvanceHighWatermark(l, p) ==
    LET end == Min({ReachedBy(l, p, member) : member \in MaximalIsr(l, p)} \cup {EndOffset(l, p)})
        below == {Entry(p, Records(l, p)[i], i - 1) : i \in 1 .. end}
        own == {entry \in below : entry.record.leader_epoch = replicas[l][p].leader_epoch}
    IN /\ IsLeading(l, p)
       /\ end > logs[l][p].high_watermark
       /\ SetLogs([logs EXCEPT ![l][p].high_watermark = end])
       /\ committed' = committed \cup below
       /\ acknowledged' = acknowledged \cup (IF HasEnoughReplicas(l, p) THEN own ELSE {})
       /\ UNCHANGED <<fetches, budget, held, breaches>>

-----------------------------------------------------------------------------
(* The ISR *)

AskIsr(l, p, isr) ==
    /\ IsLeading(l, p)
    /\ replicas[l][p].pending_isr = <<>>
    /\ Spend("isr_changes")
    /\ replicas' = [replicas EXCEPT ![l][p].pending_isr = <<isr>>, ![l][p].is_reply_lost = FALSE]
    /\ UNCHANGED <<zookeeper_vars, controllers, brokers, logs, network_vars, history_vars>>

ShrinkIsr(l, f, p) ==
    /\ f \in MemberIds(replicas[l][p].isr) \ {l}
    /\ AskIsr(l, p, {member \in replicas[l][p].isr : member.broker # f})

(* A replica joins, as the incarnation that fetched, when it has reached the *)
(* high watermark and the start of the epoch; one that is assigned.          *)
IsCaughtUp(l, f, p) ==
    /\ logs[l][p].end_offsets[f].offset >= logs[l][p].high_watermark
    /\ logs[l][p].end_offsets[f].offset >= logs[l][p].epoch_start

IsAdmitted(f, p) == HasTopic /\ f \in Topic.assigned[p]

ExpandIsr(l, f, p) ==
    /\ f \notin MemberIds(replicas[l][p].isr) \cup {l}
    /\ IsAdmitted(f, p)
    /\ IsCaughtUp(l, f, p)
    /\ AskIsr(l, p, replicas[l][p].isr \cup {Member(f, logs[l][p].end_offsets[f].broker_epoch)})

WantedState(l, p) ==
    [State(p) EXCEPT !.leader = l, !.leader_epoch = replicas[l][p].leader_epoch,
                     !.isr = replicas[l][p].pending_isr[1]]

IsrWrite(l, p) ==
    Multi(znodes, IdCheck(replicas[l][p].incarnation)
                    \o <<SetDataOp(StatePaths[p], WantedState(l, p), replicas[l][p].version)>>, 0)

IsOwnWrite(l, p) ==
    /\ HasState(p)
    /\ replicas[l][p].incarnation = CurrentTopic
    /\ StateVersion(p) = replicas[l][p].version + 1
    /\ State(p) = WantedState(l, p)

IsApplicable(l, p) == HasState(p) /\ IsrWrite(l, p).ok

Settle(l, p, isr, version) ==
    replicas' = [replicas EXCEPT ![l][p].isr = isr, ![l][p].version = version,
                                 ![l][p].pending_isr = <<>>, ![l][p].is_reply_lost = FALSE]

IsWaiting(l, p) == IsLeading(l, p) /\ replicas[l][p].pending_isr # <<>>

IsForeign(l, p) ==
    \/ State(p).leader # l
    \/ State(p).leader_epoch # replicas[l][p].leader_epoch
    \/ replicas[l][p].incarnation # CurrentTopic

(* The conditional write succeeds, or is found done after a lost reply.      *)
AdoptIsr(l, p) ==
    LET r == replicas[l][p]
    IN /\ IsWaiting(l, p)
       /\ IF r.is_reply_lost
          THEN /\ IsOwnWrite(l, p)
               /\ UNCHANGED <<znodes, breaches>>
          ELSE /\ IsApplicable(l, p)
               /\ znodes' = IsrWrite(l, p).tree
               /\ breaches' = breaches \cup Breached("OnlyAuthorisedWrites", l, IsForeign(l, p))
       /\ Settle(l, p, r.pending_isr[1], r.version + 1)
       /\ UNCHANGED <<zxid, controllers, brokers, logs, network_vars, budget, committed,
                      acknowledged, held>>

(* The write met another version: the leader may have been replaced, and     *)
(* does nothing until a command comes (ISR-004).                             *)
FenceLeader(l, p) ==
    /\ IsWaiting(l, p)
    /\ IF replicas[l][p].is_reply_lost THEN ~IsOwnWrite(l, p) ELSE ~IsApplicable(l, p)
    /\ replicas' = [replicas EXCEPT ![l][p].role = "fenced", ![l][p].pending_isr = <<>>,
                                    ![l][p].is_reply_lost = FALSE]
    /\ UNCHANGED <<zookeeper_vars, controllers, brokers, logs, network_vars, budget, history_vars>>

LoseLeaderReply(l, p) ==
    /\ IsWaiting(l, p)
    /\ ~replicas[l][p].is_reply_lost
    /\ IsApplicable(l, p)
    /\ znodes' = IsrWrite(l, p).tree
    /\ replicas' = [replicas EXCEPT ![l][p].is_reply_lost = TRUE]
    /\ breaches' = breaches \cup Breached("OnlyAuthorisedWrites", l, IsForeign(l, p))
    /\ UNCHANGED <<zxid, controllers, brokers, logs, network_vars, committed, acknowledged,
                   held>>

(* ZooKeeper applied a write, and its author does not know.                  *)
LoseReply ==
    /\ Spend("lost_replies")
    /\ \/ \E l \in Brokers, p \in Partitions : LoseLeaderReply(l, p)
       \/ \E c \in Controllers : LoseControllerReply(c)

-----------------------------------------------------------------------------
Next ==
    \/ CreateTopic
    \/ DeleteTopic
    \/ StartReassignment
    \/ CancelReassignment
    \/ \E c \in Controllers : ElectController(c)
    \/ \E c \in Controllers : ResignController(c)
    \/ \E c \in Controllers : DetectBrokerChange(c)
    \/ \E c \in Controllers : DetectTopicChange(c)
    \/ \E c \in Controllers : InitLeader(c)
    \/ \E c \in Controllers : ElectLeader(c)
    \/ \E c \in Controllers : AdvanceReassignment(c)
    \/ \E c \in Controllers : CompleteReassignment(c)
    \/ \E c \in Controllers : PublishDecision(c)
    \/ \E c \in Controllers : SendLeaderAndIsr(c)
    \/ \E c \in Controllers : SendStopReplica(c)
    \/ \E b \in Brokers : RegisterBroker(b)
    \/ \E b \in Brokers : LearnController(b)
    \/ \E b \in Brokers : BecomeLeader(b)
    \/ \E b \in Brokers : BecomeFollower(b)
    \/ \E b \in Brokers : StopReplica(b)
    \/ \E l \in Brokers, p \in Partitions : LeaderAppend(l, p)
    \/ \E f \in Brokers, p \in Partitions : TruncateLog(f, p)
    \/ \E l, f \in Brokers, p \in Partitions : ServeFetch(l, f, p)
    \/ \E f \in Brokers, p \in Partitions : FollowerAppend(f, p)
    \/ \E l \in Brokers, p \in Partitions : AdvanceHighWatermark(l, p)
    \/ \E l, f \in Brokers, p \in Partitions : ShrinkIsr(l, f, p)
    \/ \E l, f \in Brokers, p \in Partitions : ExpandIsr(l, f, p)
    \/ \E l \in Brokers, p \in Partitions : AdoptIsr(l, p)
    \/ \E l \in Brokers, p \in Partitions : FenceLeader(l, p)
    \/ \E b \in Brokers : CrashBroker(b)
    \/ \E b \in Brokers : RestartBroker(b)
    \/ ExpireSession
    \/ LoseReply
=============================================================================
