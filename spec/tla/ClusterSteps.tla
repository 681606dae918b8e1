---------------------------- MODULE ClusterSteps ----------------------------
(* What one step of `Cluster` may do to what one process knows, and what     *)
(* belongs together in it. Each rule is about one variable, whichever action *)
(* changes it: an action that does less than it should, or more, breaks one  *)
(* of them at once, however long the loss of a record would take to come.    *)
EXTENDS ClusterProperties

StoppedLog(log) ==
    [EmptyLog(log.incarnation) EXCEPT
        !.records = log.records, !.high_watermark = log.high_watermark]

(* A process that stopped, and one that runs and has not registered, knows   *)
(* what is on its disk; a candidate knows nothing.                           *)
\* @req CTL-008
\* @req BEP-001
MemoryEnds ==
    /\ \A c \in Controllers : ~IsActive(c) => controllers[c] = StandingController
    /\ \A b \in Brokers :
        /\ ~brokers[b].is_up => brokers[b].broker_epoch = Unregistered
        /\ brokers[b].broker_epoch = Unregistered =>
            /\ brokers[b].controller_epoch = 0
            /\ \A answer \in fetches : answer.to # b
            /\ \A p \in Partitions :
                replicas[b][p] = NoReplica /\ logs[b][p] = StoppedLog(logs[b][p])

(* What a replica knows is what its role needs: a leader its ISR, a follower *)
(* its leader; only a leader waits for an answer of ZooKeeper.               *)
\* @req ISR-003
RoleTellsMemory ==
    \A b \in Brokers, p \in Partitions : LET r == replicas[b][p] log == logs[b][p] IN
        /\ r.role \in {"leader", "fenced"} <=> r.isr # {}
        /\ r.role \in {"leader", "fenced"} <=> r.leader = b
        /\ r.role \in {"none", "idle"} => r.leader = NoBroker /\ log = StoppedLog(log)
        /\ r.role \in {"leader", "fenced", "follower"} => log.incarnation = r.incarnation
        /\ r.role \in {"leader", "fenced"} => log.is_truncated /\ log.epoch_start <= Len(log.records)
        /\ r.role = "follower" => log.epoch_start = 0 /\ log.end_offsets = NoOffsets
        /\ r.pending_isr # <<>> => r.role = "leader"
        /\ r.is_reply_lost => r.pending_isr # <<>>

(* An answer is on its way only to the follower that asked, as it is now.    *)
\* @req REPL-001
AnswersAreAwaited ==
    \A answer \in fetches : LET r == replicas[answer.to][answer.partition] IN
        /\ r.role = "follower"
        /\ r.leader = answer.from
        /\ r.leader_epoch = answer.leader_epoch
        /\ r.incarnation = answer.incarnation
        /\ logs[answer.to][answer.partition].is_truncated
        /\ EndOffset(answer.to, answer.partition) = answer.offset
        /\ \A other \in fetches :
            other.to = answer.to /\ other.partition = answer.partition => other = answer

(* A leader that knows the version of the state knows the state.             *)
\* @req ZK-003
VersionAgreement ==
    \A l \in Brokers, p \in Partitions :
        (/\ IsLeading(l, p)
         /\ HasState(p)
         /\ replicas[l][p].incarnation = CurrentTopic
         /\ replicas[l][p].version = StateVersion(p)) =>
            /\ State(p).leader = l
            /\ State(p).leader_epoch = replicas[l][p].leader_epoch
            /\ State(p).isr = replicas[l][p].isr

(* A broker knows the epoch of its own registration, while there is one. A   *)
(* controller decides something, and tells of each partition one state.      *)
\* @req BEP-001
\* @req FAIL-006
OneOfEach ==
    /\ \A b \in Brokers :
        brokers[b].broker_epoch = Unregistered
            \/ Registrations[b] \in {Unregistered, brokers[b].broker_epoch}
    /\ \A c \in Controllers :
        /\ controllers[c].is_reply_lost => controllers[c].decision # <<>>
        /\ \A i \in DOMAIN controllers[c].decision : LET decision == controllers[c].decision[i] IN
            decision.states # {} \/ decision.topic # <<>>
        /\ \A told, other \in controllers[c].to_tell :
            told.partition = other.partition => told = other

(* No replica takes a record for committed that no leader has committed.     *)
\* @req REPL-003
HighWatermarkIsCommitted ==
    /\ acknowledged \subseteq committed
    /\ \A b \in Brokers, p \in Partitions : \A i \in 1 .. logs[b][p].high_watermark :
        Entry(p, Records(b, p)[i], i - 1) \in committed

(* A term ends before the next one begins, and a decision is written or      *)
(* forgotten before the next one is made. While its /controller stands, a    *)
(* controller stays in office.                                               *)
\* @req CTL-008
NothingIsReplaced ==
    [][/\ \A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
            /\ IsActive(c) =>
                \/ next.controller_epoch = now.controller_epoch /\ next.czxid = now.czxid
                \/ next.status = "standing" /\ znodes[ControllerPath].ephemeral_owner # c
            /\ now.decision # <<>> => next.decision \in {now.decision, <<>>}
       /\ \A b \in Brokers, p \in Partitions :
            replicas[b][p].pending_isr # <<>> =>
                replicas'[b][p].pending_isr \in {replicas[b][p].pending_isr, <<>>}]_vars

(* A reply that is lost is one of a write that took effect.                  *)
\* @req ZK-006
LostRepliesAreOfWrites ==
    [][(\/ \E c \in Controllers : controllers'[c].is_reply_lost /\ ~controllers[c].is_reply_lost
        \/ \E b \in Brokers, p \in Partitions :
            replicas'[b][p].is_reply_lost /\ ~replicas[b][p].is_reply_lost) => znodes' # znodes]_vars

(* A controller knows what it has read: all that there is when it takes      *)
(* office, registrations and topic as they are when it looks again. A topic  *)
(* that it finds gone is to be stopped, until that is sent.                  *)
\* @req CTL-005
\* @req TOP-003
ControllersKnowWhatTheyRead ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        \/ next = StandingController
        \/ /\ now.status = "standing"
           /\ next = [StandingController EXCEPT
                !.status = "active", !.czxid = znodes'[ControllerPath].czxid,
                !.controller_epoch = znodes'[ControllerEpochPath].data,
                !.view = Registrations, !.topic = CurrentTopic, !.to_tell = next.to_tell]
           /\ {told.partition : told \in next.to_tell} = {p \in Partitions : HasState(p)}
           /\ znodes'[ControllerPath].ephemeral_owner = c
        \/ /\ next.view \in {now.view, Registrations}
           /\ next.topic \in {now.topic, CurrentTopic}
           /\ next.topic # now.topic => /\ next.to_tell = {}
                                        /\ ~next.is_stop_sent
                                        /\ now.topic \in next.to_stop \cup {NoTopic}
           /\ \A gone \in now.to_stop \ next.to_stop, b \in Brokers, p \in Partitions :
                now.view[b] = Unregistered \/ \E m \in messages' :
                    /\ m.type = "stop_replica"
                    /\ m.to = b
                    /\ m.partition = p
                    /\ m.incarnation = gone]_vars

(* A command is sent by a controller, to an incarnation that it sees, and    *)
(* names no leader that has failed; a stop is sent once, about a topic that  *)
(* is gone, or to those that have been removed.                              *)
\* @req BEP-002
\* @req CTL-006
CommandsNameTheirSender ==
    [][\A m \in messages' \ messages :
        /\ m.broker_epoch # Unregistered
        /\ \E c \in Controllers :
            /\ IsActive(c)
            /\ m.controller_epoch = controllers[c].controller_epoch
            /\ m.broker_epoch = controllers[c].view[m.to]
            /\ m.type = "leader_and_isr" /\ m.leader # NoBroker =>
                Member(m.leader, controllers[c].view[m.leader]) \in m.isr
            /\ m.type = "stop_replica" =>
                \/ m.incarnation \in controllers[c].to_stop \ controllers'[c].to_stop
                \/ controllers'[c].is_stop_sent /\ ~controllers[c].is_stop_sent
        /\ m.type = "leader_and_isr" => m.to \in Topic.assigned[m.partition]
        /\ m.type = "stop_replica" =>
            \/ m.incarnation # CurrentTopic
            \/ /\ m.to \in Topic.removing[m.partition]
               /\ m.leader_epoch = State(m.partition).leader_epoch]_vars

(* A command is gone when the incarnation that it was built for obeys it,    *)
(* which makes the replica what the command says. One of the leader epoch that*)
(* the replica knows is obeyed by one that has just started, and once.       *)
\* @req BEP-003
\* @req CMD-002
CommandsAreObeyed ==
    [][\A m \in messages \ messages' :
        LET known == replicas[m.to][m.partition]
            next == replicas'[m.to][m.partition]
        IN
        /\ brokers[m.to].broker_epoch = m.broker_epoch
        /\ next.incarnation = m.incarnation
        /\ next.leader_epoch = m.leader_epoch
        /\ m.type = "stop_replica" =>
            next.role = "none" /\ logs'[m.to][m.partition] = EmptyLog(NoTopic)
        /\ m.type = "leader_and_isr" =>
            /\ m.incarnation = known.incarnation /\ m.leader_epoch = known.leader_epoch =>
                known.role = "idle"
            /\ next.role = (IF m.leader = m.to THEN "leader" ELSE "follower")
            /\ next.leader = m.leader
            /\ next.version = m.version
            /\ next.isr = (IF m.leader = m.to THEN m.isr ELSE {})
            /\ logs'[m.to][m.partition].records =
                (IF logs[m.to][m.partition].incarnation = m.incarnation
                 THEN Records(m.to, m.partition) ELSE <<>>)
            /\ next.role = "leader" =>
                logs'[m.to][m.partition].epoch_start = Len(logs'[m.to][m.partition].records)]_vars

(* What an incarnation of a broker has obeyed it never takes back, and obeys *)
(* it once: a command that changes what a replica believes is gone.          *)
\* @req CMD-002
ObeyedStays ==
    [][\A b \in Brokers, p \in Partitions :
        LET now == replicas[b][p] next == replicas'[b][p]
        IN (brokers[b].broker_epoch # Unregistered /\ brokers'[b].broker_epoch # Unregistered) =>
            /\ \/ next.incarnation > now.incarnation
               \/ next.incarnation = now.incarnation /\ next.leader_epoch > now.leader_epoch
               \/ /\ next.incarnation = now.incarnation
                  /\ next.leader_epoch = now.leader_epoch
                  /\ next.role = "none" \/ next.version >= now.version
                  /\ \/ next.role = now.role
                     \/ next.role = "none"
                     \/ now.role = "idle"
                     \/ now.role = "leader" /\ next.role = "fenced"
            /\ (<<next.incarnation, next.leader, next.leader_epoch>>
                    # <<now.incarnation, now.leader, now.leader_epoch>>) =>
                \E m \in messages \ messages' : m.to = b /\ m.partition = p]_vars

(* A log in use grows by one record, of its leader's epoch where the leader  *)
(* takes it, and gets shorter only before its follower has begun to fetch,   *)
(* or by a crash. A leader takes nothing back that it has committed.         *)
\* @req REPL-001
\* @req CMD-005
LogsGrow ==
    [][\A b \in Brokers, p \in Partitions :
        LET now == logs[b][p]
            next == logs'[b][p]
            r == replicas[b][p]
            grown == Len(next.records) - Len(now.records)
        IN /\ next.records # now.records /\ next.incarnation = now.incarnation
                /\ brokers'[b].is_up =>
                /\ r.role \in {"leader", "follower"}
                /\ now.is_truncated =>
                    /\ grown = 1
                    /\ SubSeq(next.records, 1, Len(now.records)) = now.records
                    /\ r.role = "leader" =>
                        next.records[Len(next.records)].leader_epoch = r.leader_epoch
                /\ ~now.is_truncated =>
                    /\ grown < 0
                    /\ SubSeq(now.records, 1, Len(next.records)) = next.records
                    /\ next.is_truncated
           /\ (/\ r.role = "leader"
               /\ replicas'[b][p].role = "leader"
               /\ replicas'[b][p].incarnation = r.incarnation
               /\ replicas'[b][p].leader_epoch = r.leader_epoch) =>
                    next.high_watermark >= now.high_watermark]_vars

(* A record comes to a log from a producer, to a leader with an ISR that is  *)
(* large enough, or in an answer to the fetch of a follower.                 *)
\* @req REPL-001
\* @req REPL-008
RecordsComeFromLeaders ==
    [][\A b \in Brokers, p \in Partitions :
        LET now == logs[b][p] next == logs'[b][p] r == replicas[b][p]
            more == SubSeq(next.records, Len(now.records) + 1, Len(next.records))
        IN Len(more) > 0 =>
            /\ held' = held \cup {[broker |-> b, record |-> more[i]] : i \in DOMAIN more}
            /\ IF budget'["records"] < budget["records"]
               THEN /\ r.role = "leader"
                    /\ Cardinality(MemberIds(r.isr)) >= MinInsyncReplicas
                    /\ more[1].leader_epoch = r.leader_epoch
                    /\ more[1].incarnation = r.incarnation
                    /\ \A copy \in held : copy.record.value # more[1].value
               ELSE \E answer \in fetches \ fetches' :
                    /\ answer.to = b /\ answer.partition = p /\ answer.records = more
                    /\ next.high_watermark = Min({answer.high_watermark, Len(next.records)})]_vars

(* A leader learns of a follower what that has fetched from it, as its        *)
(* follower of this epoch and topic; and answers with what it has.           *)
\* @req ISR-002
\* @req REPL-002
LeadersLearn ==
    [][/\ \A l, f \in Brokers, p \in Partitions :
            LET next == logs'[l][p].end_offsets[f] IN
            next \notin {logs[l][p].end_offsets[f], NoOffset} =>
                /\ next = [broker_epoch |-> brokers[f].broker_epoch, offset |-> EndOffset(f, p)]
                /\ \E answer \in fetches' :
                    answer.from = l /\ answer.to = f /\ answer.partition = p
       /\ \A answer \in fetches' \ fetches :
            LET l == replicas[answer.from][answer.partition]
                log == logs[answer.from][answer.partition]
            IN /\ l.role = "leader"
               /\ l.leader_epoch = answer.leader_epoch /\ l.incarnation = answer.incarnation
               /\ answer.high_watermark = log.high_watermark
               /\ answer.records = (IF answer.offset < Len(log.records)
                                    THEN <<log.records[answer.offset + 1]>> ELSE <<>>)]_vars

(* What is committed is in the log of each member of the ISR in ZooKeeper    *)
(* that still runs as the incarnation which joined. What is acknowledged was *)
(* taken in this epoch, under an ISR that is large enough.                   *)
\* @req REPL-002
\* @req REPL-008
\* @req BEP-006
CommitsAreReplicated ==
    [][/\ committed' # committed => \E l \in Brokers, p \in Partitions :
            /\ IsLeading(l, p)
            /\ \A entry \in committed' \ committed :
                /\ entry.partition = p
                /\ Holds(l, entry)
                /\ IsActingLeader(l, p) => \A b \in Electable(p) : Holds(b, entry)
       /\ \A entry \in acknowledged' \ acknowledged : \E l \in Brokers :
            LET r == replicas[l][entry.partition] IN
            /\ r.role = "leader" /\ Holds(l, entry)
            /\ entry.record.leader_epoch = r.leader_epoch
            /\ Cardinality(MemberIds(r.isr)) >= MinInsyncReplicas]_vars

(* A broker registers under a new number, and a process that starts reads    *)
(* what is there before it does anything: the directories that it may keep   *)
(* it keeps, and others not.                                                 *)
\* @req BEP-001
\* @req START-004
RegistrationsAreNew ==
    [][\A b \in Brokers : brokers'[b].broker_epoch \notin {brokers[b].broker_epoch, Unregistered} =>
        /\ brokers'[b].broker_epoch = znodes'[BrokerPaths[b]].czxid
        /\ brokers'[b].broker_epoch = zxid' /\ zxid' > zxid
        /\ brokers[b].broker_epoch # Unregistered => UNCHANGED <<replicas, logs>>
        /\ brokers[b].broker_epoch = Unregistered => \A p \in Partitions :
            LET r == replicas'[b][p]
            IN /\ r.role = "idle"
               /\ r.incarnation = CurrentTopic
               /\ HasState(p) => r.leader_epoch = State(p).leader_epoch /\ r.version = StateVersion(p)
               /\ logs'[b][p] # EmptyLog(NoTopic) =>
                    /\ HasTopic /\ b \in Topic.assigned[p]
                    /\ logs[b][p].incarnation = Topic.id
                    /\ logs'[b][p] = logs[b][p]
               /\ MustKeep(b, p) => logs'[b][p] = logs[b][p]]_vars

(* What a bound allows changes something else than what is left of it.       *)
BoundedStepsHaveEffect ==
    [][budget' # budget =>
        <<znodes, controllers, brokers, replicas, logs>>'
            # <<znodes, controllers, brokers, replicas, logs>>]_vars
=============================================================================
