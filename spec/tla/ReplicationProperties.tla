----------------------- MODULE ReplicationProperties ------------------------
(* What else `Replication` must keep besides its own invariants: the         *)
(* committed records as one log, and that this log only grows.               *)
EXTENDS Replication

(* The brokers that may be elected cleanly; none while the partition has no  *)
(* state.                                                                    *)
Electable ==
    IF Metadata!Exists(znodes, Metadata!StatePath) THEN Metadata!State.isr ELSE {}

(* No two records were committed at one offset. *)
\* @req REPL-004
CommitUnique ==
    \A entry, other \in committed : entry.offset = other.offset => entry = other

(* Every committed record is still on some disk, of a member of the ISR or   *)
(* not. Weaker than CommittedDurable: what it forbids no repair brings back. *)
\* @req REPL-004
NotGloballyLost == \A entry \in committed : \E b \in Brokers : Holds(b, entry)

(* Only an election outside the ISR, which is on the record, takes a         *)
(* committed record from the brokers that a clean election may pick.         *)
\* @req REPL-004
NoLossUnlessFlagged == Metadata!IsCleanOf("UncleanElection") => CommittedDurable

(* A record that is acknowledged is in as many logs as min.insync.replicas   *)
(* asks for.                                                                 *)
\* @req REPL-008
MinInsyncReplicasHonoured ==
    [][\A entry \in acknowledged' \ acknowledged :
          Cardinality({b \in Brokers : HasRecord(logs'[b].records, entry.offset, entry.record)})
              >= MinInsyncReplicas]_vars

(* A leader that has the newest state takes no record while the ISR in       *)
(* ZooKeeper is smaller than that.                                           *)
\* @req REPL-008
NoAppendUnderSmallIsr ==
    [][\A b \in Brokers :
          (/\ Metadata!IsActingLeader(b)
           /\ replicas[b].znode_version = Metadata!StateVersion
           /\ EndOffset(b)' > EndOffset(b)) =>
              Cardinality(Metadata!State.isr) >= MinInsyncReplicas]_vars

(* No log has a record of an earlier epoch behind one of a later epoch: else *)
(* the end of an epoch (KIP-101) would not be one offset.                    *)
\* @req CMD-005
EpochsNonDecreasingInLog ==
    \A b \in Brokers : \A i, j \in DOMAIN Records(b) :
        i < j => Records(b)[i].leader_epoch <= Records(b)[j].leader_epoch

(* Two logs with a record of one epoch at one offset are the same up to it:  *)
(* what lets a follower find by epochs alone where its log leaves its        *)
(* leader's (KIP-101).                                                       *)
\* @req CMD-005
SameEpochSamePrefix ==
    \A b, other \in Brokers : \A i \in DOMAIN Records(b) \cap DOMAIN Records(other) :
        Records(b)[i].leader_epoch = Records(other)[i].leader_epoch =>
            CommonPrefix(Records(b), Records(other)) >= i

(* A follower that fetches has nothing that its leader has not, even after   *)
(* an election outside the ISR, which LogMatching does not survive: what was *)
(* committed before is lost then, but no replica may keep a log of its own.  *)
\* @req CMD-005
FollowersMatchLeader ==
    \A f, l \in Brokers :
        IsFetching(f) /\ IsLedBy(f, l) => CommonPrefix(Records(f), Records(l)) = EndOffset(f)

(* The true high watermark: up to here, every electable broker has every     *)
(* record that any leader ever committed. No broker knows it; a new leader's *)
(* own high watermark may lag behind it.                                     *)
TrueHighWatermark ==
    LET lacking == {entry.offset : entry \in
                        {entry \in committed : \E b \in Electable : ~Holds(b, entry)}}
        offsets == {entry.offset + 1 : entry \in committed}
    IN IF lacking # {} THEN Min(lacking) ELSE Max(offsets \cup {0})

CommittedLog ==
    IF Electable = {} THEN <<>>
    ELSE Truncated(Records(Min(Electable)), TrueHighWatermark)

(* The true high watermark never falls, whoever is elected, joins or leaves. *)
\* @req REPL-004
TrueHighWatermarkMonotonic == [][TrueHighWatermark' >= TrueHighWatermark]_vars

Abstract == INSTANCE CommitLog WITH log <- CommittedLog

(* Replication is a commit log: every step appends to the committed records, *)
(* acknowledges some of them, or changes nothing that a client can see.      *)
\* @req REPL-004
\* @req REPL-008
RefinesCommitLog == Abstract!Spec

(* Does not hold, and need not: V3 (Discussion 3) says that the old leader   *)
(* cannot commit once ZooKeeper names a new one. It can, with fetches that   *)
(* it has answered before. What it commits then is on every member of the    *)
(* ISR that it waits for, the new leader included: CommittedDurable says so. *)
NoCommitAfterElection ==
    [][\A b \in Brokers :
          logs'[b].high_watermark > logs[b].high_watermark /\ IsLeading(b) =>
              Metadata!IsActingLeader(b)]_vars
-----------------------------------------------------------------------------
(* What must be possible *)

(* All brokers have all records and know that they are committed.            *)
AllKnowItIsCommitted ==
    \A b \in Brokers : EndOffset(b) > 0 /\ logs[b].high_watermark = EndOffset(b)

(* A leader after the first one commits what it took itself.                 *)
SuccessorCommits == \E entry \in acknowledged : entry.record.leader_epoch > 0

(* What its predecessor took and did not commit has gone: another record is  *)
(* committed where it was.                                                   *)
UncommittedRecordIsReplaced ==
    /\ \E entry \in committed : entry.offset = 0 /\ entry.record.value > 1
    /\ \A b \in Brokers : EndOffset(b) = 1 /\ Records(b)[1].leader_epoch > 0

(* A broker that was restarted follows with an old checkpoint, and learns.   *)
OldCheckpointIsRead ==
    \E b \in Brokers : replicas[b].role = "idle" /\ \E entry \in committed :
        Holds(b, entry) /\ entry.offset >= logs[b].high_watermark

(* The second copy of an answer comes when its records are appended.         *)
AnswerComesTwice ==
    \E answer \in fetches :
        answer.copy = 2 /\ answer.records # <<>> /\ EndOffset(answer.to) > answer.offset

(* An answer with a record is lost, and the record is appended all the same. *)
LostAnswerIsRepeated ==
    /\ budget["losses"] < Limits["losses"]
    /\ budget["duplicates"] = Limits["duplicates"]
    /\ AllKnowItIsCommitted

(* Two followers have an answer each on its way.                             *)
TwoFollowersAreAnswered == \E answer, other \in fetches : answer.to # other.to

(* The leader goes on alone, and its ISR is full again.                      *)
LeaderGoesOnAlone ==
    \E b \in Electable : Electable = {b} /\ IsLeading(b) /\ acknowledged # {}
IsrIsFullAgain == Electable = Brokers /\ budget["isr_changes"] = 0

(* The ISR became too small for what was taken: committed, not acknowledged. *)
CommittedInVain == committed \ acknowledged # {}

(* After an election outside the ISR a committed record is gone, and the     *)
(* logs are one again.                                                       *)
LossIsOver ==
    /\ ~CommittedDurable
    /\ \A b, other \in Brokers : EndOffset(b) > 0 /\ Records(b) = Records(other)
-----------------------------------------------------------------------------
(* Three brokers halfway to a second election, which the real start reaches: *)
(*   1  Broker 1 leads epoch 0; a record reaches it and, by a fetch, broker  *)
(*      2; its next fetch tells 1 so. Broker 3 lags: nothing is committed.   *)
(*   2  The session of 1 ends; the controller elects 3 with ISR {2, 3}; 1    *)
(*      registers again, and the command is sent a second time.              *)
(*   3  Brokers 3 and 1 obey; 1 truncates to the log of 3, which is empty,   *)
(*      and fetches; 3 takes it back into the ISR.                           *)
(*   4  Broker 2 has not heard of all this: its command is still on its way. *)
(* Limits count from here on.                                                *)
SecondFollower(b, leader_epoch) ==
    [Metadata!StoppedReplica("follower") EXCEPT
        !.leader = IF leader_epoch = 0 THEN 1 ELSE 3, !.leader_epoch = leader_epoch,
        !.znode_version = leader_epoch, !.controller_epoch = 1,
        !.heard = [leader_epoch |-> leader_epoch, controller_epoch |-> 1]]

SecondLog(records, end_offsets) ==
    [records |-> records, high_watermark |-> 0, is_truncated |-> TRUE, epoch_start |-> 0,
     end_offsets |-> end_offsets]

SecondState == [leader |-> 3, leader_epoch |-> 1, isr |-> Brokers, controller_epoch |-> 1]

IsHalfway ==
    /\ znodes = [path \in Metadata!Paths |->
                    CASE path = Metadata!ControllerPath -> Metadata!Ephemeral(11)
                      [] path = Metadata!ControllerEpochPath -> Metadata!Persistent(1, 1)
                      [] path = Metadata!TopicPath -> Metadata!Persistent(<<>>, 0)
                      [] path = Metadata!StatePath -> Metadata!Persistent(SecondState, 2)
                      [] OTHER -> Metadata!Ephemeral(
                                    CHOOSE b \in Brokers : Metadata!BrokerPath(b) = path)]
    /\ controllers = [c \in Controllers |->
                        [Metadata!IdleController EXCEPT
                            !.status = "active", !.controller_epoch = 1,
                            !.live_brokers = Brokers]]
    /\ replicas = [b \in Brokers |->
                    CASE b = 1 -> SecondFollower(1, 1)
                      [] b = 2 -> SecondFollower(2, 0)
                      [] OTHER -> [SecondFollower(b, 1) EXCEPT
                                    !.role = "leader", !.isr = Brokers, !.znode_version = 2]]
    /\ messages = {[from |-> 11, to |-> 2, place |-> 0, copy |-> 1, leader |-> 3,
                    leader_epoch |-> 1, isr |-> {2, 3}, znode_version |-> 1,
                    controller_epoch |-> 1]}
    /\ breaches = {}
    /\ logs = [b \in Brokers |->
                CASE b = 1 -> SecondLog(<<>>, OffsetsAfterRoleChange([NoEndOffsets EXCEPT ![2] = 1]))
                  [] b = 2 -> SecondLog(<<[leader_epoch |-> 0, value |-> 1]>>, NoEndOffsets)
                  [] OTHER -> SecondLog(<<>>, [NoEndOffsets EXCEPT ![1] = 0])]
    /\ fetches = {}
    /\ committed = {}
    /\ acknowledged = {}

InitHalfway == IsHalfway /\ budget = Limits

(* Does not hold, and shows that the real start gets there.                  *)
NeverHalfway == ~IsHalfway
-----------------------------------------------------------------------------
(* Three brokers between two leaders, with an answer of the old one on its   *)
(* way, which the real start reaches:                                        *)
(*   1  Broker 1 leads epoch 0 and takes a record. Broker 3 fetches it; the  *)
(*      answer is in flight.                                                 *)
(*   2  The session of 1 ends; the controller elects 2 with ISR {2, 3}.      *)
(*   3  Broker 2 obeys. The commands to 1 and 3 are in flight as well.       *)
(* Limits count from here on.                                                *)
InFlightState == [leader |-> 2, leader_epoch |-> 1, isr |-> {2, 3}, controller_epoch |-> 1]

InFlightCommand(b) ==
    [from |-> 11, to |-> b, place |-> 0, copy |-> 1, leader |-> 2, leader_epoch |-> 1,
     isr |-> {2, 3}, znode_version |-> 1, controller_epoch |-> 1]

InFlightReplica(b) ==
    [Metadata!StoppedReplica("follower") EXCEPT
        !.role = IF b = 3 THEN @ ELSE "leader", !.leader = IF b = 2 THEN 2 ELSE 1,
        !.leader_epoch = IF b = 2 THEN 1 ELSE 0, !.znode_version = IF b = 2 THEN 1 ELSE 0,
        !.isr = CASE b = 1 -> Brokers [] b = 2 -> {2, 3} [] OTHER -> {},
        !.controller_epoch = 1,
        !.heard = [leader_epoch |-> IF b = 2 THEN 1 ELSE 0, controller_epoch |-> 1]]

OldRecord == [leader_epoch |-> 0, value |-> 1]

IsInFlight ==
    /\ znodes = [path \in Metadata!Paths |->
                    CASE path = Metadata!ControllerPath -> Metadata!Ephemeral(11)
                      [] path = Metadata!ControllerEpochPath -> Metadata!Persistent(1, 1)
                      [] path = Metadata!TopicPath -> Metadata!Persistent(<<>>, 0)
                      [] path = Metadata!StatePath -> Metadata!Persistent(InFlightState, 1)
                      [] path = Metadata!BrokerPath(1) -> Metadata!Absent
                      [] OTHER -> Metadata!Ephemeral(
                                    CHOOSE b \in Brokers : Metadata!BrokerPath(b) = path)]
    /\ controllers = [c \in Controllers |->
                        [Metadata!IdleController EXCEPT
                            !.status = "active", !.controller_epoch = 1,
                            !.live_brokers = {2, 3}]]
    /\ replicas = [b \in Brokers |-> InFlightReplica(b)]
    /\ messages = {InFlightCommand(b) : b \in {1, 3}}
    /\ breaches = {}
    /\ logs = [b \in Brokers |->
                IF b = 1 THEN SecondLog(<<OldRecord>>, [NoEndOffsets EXCEPT ![3] = 0])
                ELSE SecondLog(<<>>, NoEndOffsets)]
    /\ fetches = {[from |-> 1, to |-> 3, leader_epoch |-> 0, offset |-> 0,
                   records |-> <<OldRecord>>, high_watermark |-> 0, copy |-> 1]}
    /\ committed = {}
    /\ acknowledged = {}

InitInFlight == IsInFlight /\ budget = Limits

(* Does not hold, and shows that the real start gets there.                  *)
NeverInFlight == ~IsInFlight
-----------------------------------------------------------------------------
(* Two brokers with diverged logs, which the real start of elections outside *)
(* the ISR reaches:                                                          *)
(*   1  Broker 1 leads epoch 0 alone and has a record; its session ends.     *)
(*   2  The controller elects 2, which has a record of epoch 1; its session  *)
(*      ends when 1 is registered again and has not heard of all this.       *)
(*   3  The controller elects 1, which has a record of epoch 2 behind its    *)
(*      old one. Broker 2 is registered again, which is not seen yet.        *)
(* Limits count from here on.                                                *)
PartedLeader(b, leader_epoch) ==
    [Metadata!StoppedReplica("leader") EXCEPT
        !.leader = b, !.leader_epoch = leader_epoch, !.isr = {b},
        !.znode_version = leader_epoch, !.controller_epoch = 1,
        !.heard = [leader_epoch |-> leader_epoch, controller_epoch |-> 1]]

PartedState(b, leader_epoch) ==
    [leader |-> b, leader_epoch |-> leader_epoch, isr |-> {b}, controller_epoch |-> 1]

PartedCommand(b, leader, leader_epoch) ==
    [from |-> 11, to |-> b, place |-> 0, copy |-> 1, leader |-> leader,
     leader_epoch |-> leader_epoch, isr |-> {leader}, znode_version |-> leader_epoch,
     controller_epoch |-> 1]

PartedRecord(leader_epoch) == [leader_epoch |-> leader_epoch, value |-> leader_epoch + 1]

IsParted ==
    /\ znodes = [path \in Metadata!Paths |->
                    CASE path = Metadata!ControllerPath -> Metadata!Ephemeral(11)
                      [] path = Metadata!ControllerEpochPath -> Metadata!Persistent(1, 1)
                      [] path = Metadata!TopicPath -> Metadata!Persistent(<<>>, 0)
                      [] path = Metadata!StatePath -> Metadata!Persistent(PartedState(1, 2), 2)
                      [] OTHER -> Metadata!Ephemeral(
                                    CHOOSE b \in Brokers : Metadata!BrokerPath(b) = path)]
    /\ controllers = [c \in Controllers |->
                        [Metadata!IdleController EXCEPT
                            !.status = "active", !.controller_epoch = 1,
                            !.live_brokers = {1}]]
    /\ replicas = [b \in Brokers |-> PartedLeader(b, IF b = 1 THEN 2 ELSE 1)]
    /\ messages = {PartedCommand(1, 2, 1), PartedCommand(2, 1, 2)}
    /\ breaches = {[invariant |-> "UncleanElection", actor |-> 11]}
    /\ logs = [b \in Brokers |->
                IF b = 1
                THEN [SecondLog(<<PartedRecord(0), PartedRecord(2)>>, NoEndOffsets) EXCEPT
                        !.epoch_start = 1]
                ELSE SecondLog(<<PartedRecord(1)>>, NoEndOffsets)]
    /\ fetches = {}
    /\ committed = {}
    /\ acknowledged = {}

InitParted == IsParted /\ budget = Limits

(* Does not hold, and shows that the real start gets there.                  *)
NeverParted == ~IsParted
=============================================================================
