----------------------- MODULE ReplicationProperties ------------------------
(* What else `Replication` must keep besides its own invariants: the         *)
(* committed records as one log, and that this log only grows.               *)
EXTENDS Replication

(* Who may be elected cleanly; nobody while the partition has no state.      *)
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

(* No log has a record of an earlier epoch behind one of a later epoch: else *)
(* the end of an epoch (KIP-101) would not be one offset.                    *)
\* @req CMD-005
EpochsNonDecreasingInLog ==
    \A b \in Brokers : \A i, j \in DOMAIN Records(b) :
        i < j => Records(b)[i].leader_epoch <= Records(b)[j].leader_epoch

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
=============================================================================
