------------------------- MODULE ClusterProperties --------------------------
(* What `Cluster` keeps, whatever its features do to each other. The         *)
(* properties of records are about the topic that exists: what was committed *)
(* in one that was deleted is gone with it.                                  *)
EXTENDS Cluster

Offsets == 0 .. Limits["records"]
LeaderEpochs == Nat \cup {NoEpoch}
MembersOfIsr == [broker : Brokers, broker_epoch : 0 .. zxid]

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ DOMAIN znodes = Paths
    /\ \A path \in Paths : Exists(znodes, path) \/ znodes[path] = Absent
    /\ \A p \in Partitions : HasState(p) =>
        /\ State(p).leader \in Brokers \cup {NoBroker}
        /\ State(p).leader_epoch \in LeaderEpochs
        /\ State(p).isr \subseteq MembersOfIsr
    /\ HasTopic =>
        /\ Topic.id \in TopicIds
        /\ Topic.assigned \in [Partitions -> SUBSET Brokers]
        /\ Topic.adding \in [Partitions -> SUBSET Brokers]
        /\ Topic.removing \in [Partitions -> SUBSET Brokers]
    /\ brokers \in [Brokers -> [is_up : BOOLEAN, broker_epoch : 0 .. zxid,
                                controller_epoch : 0 .. znodes[ControllerEpochPath].data]]
    /\ \A c \in Controllers :
        /\ controllers[c].status \in {"standing", "active"}
        /\ controllers[c].view \in [Brokers -> 0 .. zxid]
        /\ Len(controllers[c].decision) <= 1
        /\ controllers[c].to_stop \subseteq TopicIds
    /\ \A b \in Brokers, p \in Partitions :
        /\ replicas[b][p].role \in {"none", "idle", "follower", "leader", "fenced"}
        /\ replicas[b][p].isr \subseteq MembersOfIsr
        /\ replicas[b][p].leader_epoch \in LeaderEpochs
        /\ Len(replicas[b][p].pending_isr) <= 1
        /\ logs[b][p].incarnation \in TopicIds \cup {NoTopic}
        /\ logs[b][p].high_watermark \in Offsets
        /\ Len(logs[b][p].records) \in Offsets
    /\ \A m \in messages :
        m.to \in Brokers /\ m.partition \in Partitions /\ m.incarnation \in TopicIds
    /\ \A answer \in fetches : answer.to \in Brokers /\ Len(answer.records) <= 1
    /\ \A what \in DOMAIN budget : budget[what] \in 0 .. Limits[what]

-----------------------------------------------------------------------------
(* Records *)

Holds(b, entry) ==
    /\ logs[b][entry.partition].incarnation = entry.record.incarnation
    /\ HasRecord(Records(b, entry.partition), entry.offset, entry.record)

IsOfPresentTopic(entry) == entry.record.incarnation = CurrentTopic /\ HasState(entry.partition)

(* The members that run as the incarnation which joined: any of them may be  *)
(* elected.                                                                  *)
Electable(p) ==
    {member.broker : member \in {member \in State(p).isr :
        brokers[member.broker].broker_epoch = member.broker_epoch}}

(* A broker that may be elected has every committed record.                  *)
\* @req REPL-004
\* @req BEP-006
CommittedDurable ==
    \A entry \in committed : IsOfPresentTopic(entry) =>
        \A b \in Electable(entry.partition) : Holds(b, entry)

(* What a producer was told is safe is safe.                                 *)
\* @req REPL-008
AcknowledgedDurable ==
    \A entry \in acknowledged : IsOfPresentTopic(entry) =>
        \A b \in Electable(entry.partition) : Holds(b, entry)

(* The acting leader has every committed record.                             *)
\* @req REPL-004
LeaderComplete ==
    \A b \in Brokers, p \in Partitions : IsActingLeader(b, p) =>
        \A entry \in committed :
            entry.partition = p /\ IsOfPresentTopic(entry) => Holds(b, entry)

(* No two records were committed at one offset of a partition.               *)
\* @req REPL-004
CommitUnique ==
    \A entry, other \in committed :
        (/\ entry.partition = other.partition
         /\ entry.offset = other.offset
         /\ entry.record.incarnation = other.record.incarnation) => entry = other

(* Two logs of one topic agree below the smaller high watermark.             *)
\* @req REPL-005
LogMatching ==
    \A b, other \in Brokers, p \in Partitions :
        logs[b][p].incarnation = logs[other][p].incarnation =>
            CommonPrefix(Records(b, p), Records(other, p)) >=
                Min({logs[b][p].high_watermark, logs[other][p].high_watermark,
                     EndOffset(b, p), EndOffset(other, p)})

(* No replica claims to have committed more than it has.                     *)
\* @req REPL-003
HighWatermarkInLog ==
    \A b \in Brokers, p \in Partitions : logs[b][p].high_watermark <= EndOffset(b, p)

(* No directory holds a record of another topic than its own.                *)
\* @req START-004
NoStaleIncarnationServed ==
    \A b \in Brokers, p \in Partitions : \A i \in DOMAIN Records(b, p) :
        Records(b, p)[i].incarnation = logs[b][p].incarnation

(* Each acknowledged record was in as many logs as the topic asks for. A     *)
(* crash may have taken it from some since, or a deletion.                   *)
\* @req REPL-008
MinInsyncReplicasHonoured ==
    \A entry \in acknowledged :
        Cardinality({copy.broker : copy \in {copy \in held : copy.record = entry.record}})
            >= MinInsyncReplicas

-----------------------------------------------------------------------------
(* Metadata *)

(* The leader is a member of the ISR; a partition without leader keeps one.  *)
\* @req ISR-006
LeaderInIsr ==
    \A p \in Partitions : HasState(p) =>
        /\ State(p).isr # {}
        /\ State(p).leader # NoBroker => State(p).leader \in MemberIds(State(p).isr)

(* No broker is in the ISR that is not assigned, and none in it twice.       *)
\* @req REAS-002
IsrSubsetAssigned ==
    \A p \in Partitions : HasState(p) /\ HasTopic =>
        /\ MemberIds(State(p).isr) \subseteq Topic.assigned[p]
        /\ Cardinality(MemberIds(State(p).isr)) = Cardinality(State(p).isr)

(* No two brokers lead a partition of one topic under one leader epoch.      *)
\* @req FAIL-004
OneLeaderPerEpoch ==
    \A b, other \in Brokers, p \in Partitions :
        (/\ b # other
         /\ IsLeading(b, p)
         /\ IsLeading(other, p)
         /\ replicas[b][p].incarnation = replicas[other][p].incarnation) =>
            replicas[b][p].leader_epoch # replicas[other][p].leader_epoch

(* No two controllers act under one controller epoch.                        *)
\* @req CTL-005
OneControllerPerEpoch ==
    \A c, other \in Controllers :
        (c # other /\ IsActive(c) /\ IsActive(other)) =>
            controllers[c].controller_epoch # controllers[other].controller_epoch

(* The acting leader waits for every broker that could be elected.           *)
\* @req ISR-003
QuorumSuperset ==
    \A b \in Brokers, p \in Partitions : IsActingLeader(b, p) =>
        \A member \in State(p).isr :
            member \in MaximalIsr(b, p) \/ member.broker \notin Electable(p)

(* No command about the present topic says what ZooKeeper never held.        *)
\* @req FAIL-006
CommandReflectsZk ==
    \A m \in messages :
        (/\ m.type = "leader_and_isr"
         /\ m.incarnation = CurrentTopic) =>
            /\ HasState(m.partition)
            /\ m.version <= StateVersion(m.partition)
            /\ m.version = StateVersion(m.partition) =>
                /\ m.leader = State(m.partition).leader
                /\ m.leader_epoch = State(m.partition).leader_epoch
                /\ m.isr = State(m.partition).isr

(* What is sent is about the topic that exists.                              *)
\* @req TOP-003
CommandsOfPresentTopic ==
    [][\A m \in messages' \ messages :
        m.type = "leader_and_isr" => m.incarnation = CurrentTopic]_vars

(* There is no state without a topic.                                        *)
\* @req TOP-003
NoResurrection == \A p \in Partitions : HasState(p) => HasTopic

(* A replica that was taken away is stopped, or about to be, when nothing    *)
(* tells of it any more; while all brokers keep their sessions.              *)
\* @req REAS-001
RemovedAreStopped ==
    \A b \in Brokers, p \in Partitions :
        (/\ HasTopic
         /\ logs[b][p].incarnation = Topic.id
         /\ b \notin Topic.assigned[p] \cup Topic.removing[p]) =>
            \E m \in messages :
                /\ m.type = "stop_replica"
                /\ m.to = b
                /\ m.partition = p
                /\ m.incarnation = Topic.id

(* What is as it should be is not written again: each multi changes data, or *)
(* which znodes exist.                                                       *)
\* @req REAS-001
NoIdleWrite ==
    [][znodes' # znodes =>
        \E path \in Paths :
            \/ znodes'[path].data # znodes[path].data
            \/ Exists(znodes', path) # Exists(znodes, path)]_vars

(* A process never forgets a controller epoch, of commands that it obeyed    *)
(* neither.                                                                  *)
\* @req CTL-006
ControllerEpochsRise ==
    /\ [][\A b \in Brokers : brokers[b].is_up /\ brokers'[b].is_up
            => brokers'[b].controller_epoch >= brokers[b].controller_epoch]_vars
    /\ [][\A m \in messages : m \notin messages' /\ m.type = "leader_and_isr"
            => brokers'[m.to].controller_epoch >= m.controller_epoch]_vars

IsCleanOf(invariant) == \A breach \in breaches : breach.invariant # invariant

(* A deposed controller's writes fail.                                       *)
\* @req ZK-005
StaleControllerHarmless == IsCleanOf("StaleControllerHarmless")

(* A leader changes the state only while that names it, its epoch and its    *)
(* topic.                                                                    *)
\* @req ZK-003
OnlyAuthorisedWrites == IsCleanOf("OnlyAuthorisedWrites")

(* No broker deletes a directory that it is to keep.                         *)
\* @req CMD-008
DeleteOnlyIfUnassigned == IsCleanOf("DeleteOnlyIfUnassigned")

DecidedOn(p) ==
    UNION {UNION {{write.version : write \in {write \in controllers[c].decision[i].states :
                                                write.partition = p}} :
                    i \in DOMAIN controllers[c].decision} :
            c \in {c \in Controllers : InOffice(c)}}

(* All that a state has: incarnations, controllers, topics that come again.  *)
AsStateZnode(p) == INSTANCE StateZnode WITH
    BrokerOf <- LAMBDA member : member.broker,
    state <- State(p),
    version <- StateVersion(p),
    assigned <- IF HasTopic THEN Topic.assigned[p] ELSE {},
    decided_on <- DecidedOn(p),
    asked_on <- {replicas[l][p].version :
                    l \in {l \in Brokers :
                        IsWaiting(l, p) /\ replicas[l][p].incarnation = CurrentTopic}},
    controller_epoch <- znodes[ControllerEpochPath].data,
    is_loss_told <- FALSE

(* The znode of each state changes as `StateZnode` says, and not otherwise.  *)
\* @req ZK-003
\* @req FAIL-004
\* @req REAS-002
RefinesStateZnode ==
    /\ \A p \in Partitions : AsStateZnode(p)!Init
    /\ [][\A p \in Partitions : AsStateZnode(p)!IsAllowed]_vars

-----------------------------------------------------------------------------
(* What must be possible *)

IsPast(what) == budget[what] < Limits[what]
IsServed(p) ==
    HasState(p) /\ HasTopic /\ \A b \in Topic.assigned[p] :
        IF b = State(p).leader THEN IsActingLeader(b, p)
        ELSE replicas[b][p].leader = State(p).leader
                /\ replicas[b][p].leader_epoch = State(p).leader_epoch

(* A record is acknowledged and held by all, or by the leader that is left.  *)
RecordIsReplicated ==
    \E entry \in acknowledged : \A b \in FirstAssigned : Holds(b, entry)
TwoFollowersAreAnswered ==
    \E answer, other \in fetches :
        answer.to # other.to /\ answer.records # <<>> /\ other.records # <<>>
LeaderCommitsAlone ==
    \E entry \in acknowledged : \E b \in FirstAssigned :
        [broker |-> b, record |-> entry.record] \notin held

(* The survivor of a crash leads alone; the other comes back and follows     *)
(* with what it had lost.                                                    *)
SurvivorLeadsAlone ==
    \E p \in Partitions : IsServed(p) /\ State(p).leader_epoch > 0 /\ Cardinality(State(p).isr) = 1
LostRecordIsFetched ==
    IsPast("crashes") /\ \E entry \in committed : \A b \in FirstAssigned :
        Holds(b, entry) /\ IsServed(entry.partition) /\ State(entry.partition).leader_epoch > 0

(* No member is left that the controller knows: nothing leads.               *)
PartitionWaits == \E p \in Partitions : HasState(p) /\ State(p).leader = NoBroker

(* A broker that starts still has what it held.                              *)
DirectoryIsKept ==
    \E b \in Brokers, p \in Partitions : replicas[b][p].role = "idle" /\ Records(b, p) # <<>>

(* What a deposed leader took alone is replaced by what was committed.       *)
LogsPart ==
    \E l, f \in Brokers, p \in Partitions :
        IsLedBy(f, l, p) /\ ~logs[f][p].is_truncated
            /\ TruncationPoint(f, l, p) < Min({EndOffset(f, p), logs[l][p].high_watermark})

(* A member leaves the ISR and joins it again.                               *)
MemberLeaves ==
    \E p \in Partitions : HasState(p) /\ Cardinality(State(p).isr) < Cardinality(FirstIsr)
        /\ State(p).leader_epoch = 0
MemberJoinsAgain ==
    \E p \in Partitions : IsServed(p) /\ StateVersion(p) > 1 /\ State(p).isr = FirstIsr
        /\ replicas[State(p).leader][p].isr = FirstIsr

(* It joins as another incarnation.                                          *)
NewIncarnationJoins ==
    \E p \in Partitions : IsServed(p) /\ MemberIds(State(p).isr) = FirstAssigned
        /\ State(p).isr # FirstIsr

(* A leader finds its write done after a lost reply, and goes on with it.    *)
OwnWriteIsFound ==
    \E l \in Brokers, p \in Partitions :
        IsWaiting(l, p) /\ replicas[l][p].is_reply_lost /\ IsOwnWrite(l, p)
OwnWriteIsAdopted ==
    IsPast("lost_replies") /\ \E p \in Partitions : IsServed(p) /\ StateVersion(p) = 1
        /\ replicas[State(p).leader][p].isr = State(p).isr
LeaderIsFenced == \E b \in Brokers, p \in Partitions : replicas[b][p].role = "fenced"

(* The topic is gone from every broker, and served again as another.         *)
TopicIsGone ==
    ~HasTopic /\ \A b \in Brokers, p \in Partitions : logs[b][p].incarnation = NoTopic
TopicIsServedAgain == CurrentTopic > 1 /\ \A p \in Partitions : IsServed(p)
RecordOfSecondTopic == \E entry \in acknowledged : entry.record.incarnation > 1

(* Another controller decides; the deposed one has a decision left.          *)
SuccessorDecides == \E p \in Partitions : IsServed(p) /\ State(p).controller_epoch > 1
SuccessorTells == \E m \in messages : m.controller_epoch > 1 /\ m.type = "leader_and_isr"
ZombieDecides == \E c \in Controllers : IsActive(c) /\ ~InOffice(c) /\ controllers[c].decision # <<>>

(* A move ends with the target alone, or is taken back.                      *)
MoveIsOver ==
    \E p \in Partitions : IsServed(p) /\ ~IsRequested /\ Topic.removing[p] = {}
        /\ Topic.assigned[p] # FirstAssigned /\ MemberIds(State(p).isr) = Topic.assigned[p]
        /\ \A b \in Brokers \ Topic.assigned[p] : logs[b][p].incarnation = NoTopic
ElectionBesideStops ==
    \E c \in Controllers : IsActive(c) /\ controllers[c].is_stop_sent
        /\ \E i \in DOMAIN controllers[c].decision : controllers[c].decision[i].topic = <<>>
AllAreInSync ==
    \E p \in Partitions : IsServed(p) /\ Topic.adding[p] # {}
        /\ MemberIds(State(p).isr) = Topic.assigned[p]
MoveIsTakenBack ==
    IsPast("cancellations") /\ \E p \in Partitions : IsServed(p) /\ Topic.removing[p] = {}
        /\ Topic.assigned[p] = FirstAssigned /\ State(p).leader_epoch > 0

(* The first leader comes back before another is elected, and knows what it  *)
(* has committed, or has an older checkpoint of that.                        *)
IsBackInTime(b, p) ==
    /\ HasState(p) /\ State(p).leader_epoch = 0 /\ b = FirstLeader
    /\ brokers[b].is_up /\ brokers[b].broker_epoch = Unregistered
    /\ \E entry \in committed : entry.partition = p /\ Holds(b, entry)
CheckpointIsRead == \E b \in Brokers, p \in Partitions :
    IsBackInTime(b, p) /\ logs[b][p].high_watermark > 0
OldCheckpointIsRead == \E b \in Brokers, p \in Partitions :
    IsBackInTime(b, p) /\ logs[b][p].high_watermark = 0

(* A follower that starts obeys the epoch that it has read, once it is told. *)
KnownEpochIsObeyed ==
    \E b \in Brokers, p \in Partitions :
        /\ replicas[b][p].role = "follower" /\ replicas[b][p].leader_epoch = 0
        /\ brokers[b].broker_epoch > Max(Brokers)

(* A command comes late: from a deposed controller, to a former process, of  *)
(* an earlier state.                                                         *)
LateCommandIsRefused ==
    \E m \in messages : m.type = "leader_and_isr" /\ brokers[m.to].broker_epoch # Unregistered
        /\ ~IsObeyed(m.to, m)
DeposedSenderIsRefused ==
    \E m \in messages : IsDeposedSender(m.to, m) /\ IsForThisIncarnation(m.to, m)
        /\ m.type = "leader_and_isr" /\ IsNewer(replicas[m.to][m.partition], m)
=============================================================================
