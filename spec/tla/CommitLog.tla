----------------------------- MODULE CommitLog ------------------------------
(* What a replicated partition is for: one log of committed records that     *)
(* only grows at its end, and the set of those entries that were             *)
(* acknowledged to their producers. No brokers, no epochs, no failures:      *)
(* `Replication` and `ClientHistory` are checked to be this and nothing      *)
(* else.                                                                     *)
EXTENDS Integers, Sequences

VARIABLES
    log,            \* the committed records
    acknowledged    \* entries [offset, record] that are acknowledged

vars == <<log, acknowledged>>

Init == log = <<>> /\ acknowledged = {}

IsPrefix(shorter, longer) ==
    Len(shorter) <= Len(longer) /\ shorter = SubSeq(longer, 1, Len(shorter))

EntriesOf(records) == {[offset |-> i - 1, record |-> records[i]] : i \in DOMAIN records}

(* What was acknowledged stays so, and is in the log.                        *)
IsAcknowledging ==
    /\ acknowledged \subseteq acknowledged'
    /\ acknowledged' \subseteq EntriesOf(log')

(* Records join the log at its end; producers may hear of it in the same     *)
(* step. Nothing else ever happens to the log.                               *)
Commit == log # log' /\ IsPrefix(log, log') /\ IsAcknowledging

(* Producers hear of records that have joined before.                        *)
Acknowledge == log = log' /\ acknowledged # acknowledged' /\ IsAcknowledging

Spec == Init /\ [][Commit \/ Acknowledge]_vars
=============================================================================
