------------------------------ MODULE TraceZk -------------------------------
(* What ZooKeeper recorded of a run is what `Zk` allows, and what brokers    *)
(* heard of the state znodes is what its transactions did. Its own lines, in *)
(* the order of their zxids, are transactions on the tree: a session that    *)
(* begins or ends, or all lines of one multi at once.                        *)
(*                                                                           *)
(* A session is a client of `Zk` that has had no other; client 0 is the      *)
(* session of none: ZooKeeper's own changes and what a simulated one begins  *)
(* with. A change under a session that is over is replayed and breaks an     *)
(* invariant. LinearizableZnode needs no check beside the step: each SetData *)
(* replaces the version below its own. Checks in a multi are not logged.     *)
EXTENDS Zk, TraceData, TLC

VARIABLES
    run,        \* which element of Recorded
    at,         \* the event that comes next
    written     \* path -> what took effect there, in order: `history`, found by its path

(* The replay is deterministic: one place in one run is one state.           *)
Place == <<run, at>>

Events == Recorded[run].events
Event == Events[at]
Is(action) == Event.action = action

NoClient == 0
RecordedClients == {NoClient} \cup UNION {Recorded[i].sessions : i \in DOMAIN Recorded}
RecordedPaths == UNION {Recorded[i].paths : i \in DOMAIN Recorded}
AnyPath == CHOOSE path \in RecordedPaths : TRUE

TraceInit ==
    /\ InitWith(Lived(NoClient, "begin", 0))
    /\ run \in DOMAIN Recorded
    /\ at = 1
    /\ written = [path \in Paths |-> <<>>]

-----------------------------------------------------------------------------
(* What ZooKeeper did *)

IsNextTransaction == Event.zxid > zxid /\ zxid' = Event.zxid

CreateSessionLogged ==
    LET s == Event.session_id
    IN /\ Is("CreateSession")
       /\ IsNextTransaction
       /\ s # NoClient
       /\ sessions[s] = NoClientSession
       /\ sessions' = [sessions EXCEPT ![s] = [session_id |-> s, is_live |-> TRUE]]
       /\ lives' = lives \cup Lived(s, "begin", Event.zxid)
       /\ UNCHANGED <<znodes, written>>

(* ZooKeeper logs what goes with the session since version 3.6, and then     *)
(* that is all that goes. Its client's end and ZooKeeper's own may both be   *)
(* logged.                                                                   *)
CloseSessionLogged ==
    LET s == Event.session_id
    IN /\ Is("CloseSession")
       /\ IsNextTransaction
       /\ sessions[s].session_id # NoSession
       /\ \A path \in Event.deleted : znodes[path].ephemeral_owner = s
       /\ znodes' = IF Recorded[run].logs_deletions
                    THEN [path \in Paths |->
                            IF path \in Event.deleted THEN Absent ELSE znodes[path]]
                    ELSE WithoutSession(znodes, s)
       /\ sessions' = [sessions EXCEPT ![s].is_live = FALSE]
       /\ lives' = lives \cup Lived(s, "end", Event.zxid)
       /\ UNCHANGED written

Operation(change) ==
    CASE change.action = "Create" -> CreateOp(change.path, change.data, change.ephemeral_owner)
      [] change.action = "SetData" -> SetDataOp(change.path, change.data, change.znode_version - 1)
      [] change.action = "Delete" -> DeleteOp(change.path, AnyVersion)

IsVersion(change) ==
    CASE change.action = "Create" -> change.znode_version = 0
      [] change.action = "SetData" -> change.znode_version >= 1
      [] change.action = "Delete" -> change.znode_version = Absent.version

Done(change) ==
    [zxid |-> Event.zxid, data |-> change.data, version |-> change.znode_version,
     session_id |-> Event.session_id]

RECURSIVE WithDone(_, _)
WithDone(entries, changes) ==
    IF changes = <<>> THEN entries
    ELSE CHOOSE done \in {WithDone(next, Tail(changes)) :
            next \in {[entries EXCEPT ![Head(changes).path] = Append(@, Done(Head(changes)))]}} :
                TRUE

TransactionLogged ==
    LET changes == Event.changes
        after == Multi(znodes, [i \in DOMAIN changes |-> Operation(changes[i])], Event.zxid)
    IN /\ Is("Transaction")
       /\ IsNextTransaction
       /\ \A i \in DOMAIN changes : IsVersion(changes[i])
       /\ after.ok
       /\ znodes' = after.tree
       /\ written' = WithDone(written, changes)
       /\ UNCHANGED <<sessions, lives>>

-----------------------------------------------------------------------------
(* What brokers heard *)

(* What took effect on the path of the event; nothing on one without a line. *)
Entries == IF Event.path \in Paths THEN written[Event.path] ELSE <<>>
Holds(entry, version) == entry.version = version /\ entry.data = Event.data
IsWrite(entry) == Holds(entry, Event.expected_version + 1) /\ entry.session_id = Event.session_id

(* A read returns what the znode held once: a server may lag.                *)
ReadHeard ==
    /\ Is("ReadHeard")
    /\ \E i \in DOMAIN Entries : Holds(Entries[i], Event.znode_version)

WriteHeard ==
    /\ Is("WriteHeard")
    /\ Event.znode_version = Event.expected_version + 1
    /\ \E i \in DOMAIN Entries : IsWrite(Entries[i]) /\ Entries[i].zxid = Event.zxid

(* No transaction is this write. There is no such event if the same was      *)
(* asked for once more: the other may be the one that took effect.           *)
WriteRefused ==
    /\ Is("WriteRefused")
    /\ ~\E i \in DOMAIN Entries : IsWrite(Entries[i])

-----------------------------------------------------------------------------
TraceStep ==
    /\ at <= Len(Events)
    /\ \/ CreateSessionLogged
       \/ CloseSessionLogged
       \/ TransactionLogged
       \/ /\ ReadHeard \/ WriteHeard \/ WriteRefused
          /\ UNCHANGED <<znodes, zxid, sessions, lives, written>>
    /\ at' = at + 1
    /\ UNCHANGED <<abandoned, requests, results, history, budget, run>>

Shown ==
    [znodes |-> [path \in {p \in Paths : Exists(znodes, p)} |-> znodes[path]],
     live_sessions |-> LiveSessions,
     zxid |-> zxid]

(* What `Zk` allows next, and by which session. *)
EnabledActions ==
    LET is_some_absent == \E path \in Paths : ~Exists(znodes, path)
        is_some_there == \E path \in Paths : Exists(znodes, path)
        actions == {"CloseSession"}
            \cup (IF is_some_absent THEN {"Create"} ELSE {})
            \cup (IF is_some_there THEN {"SetData", "Delete"} ELSE {})
    IN {<<"CreateSession", NoClient>>} \cup (actions \X (LiveSessions \ {NoClient}))

Stuck ==
    /\ at <= Len(Events)
    /\ ~ENABLED TraceStep
    /\ PrintT(<<"stuck", run, at, Shown, EnabledActions>>)
    /\ FALSE
    /\ UNCHANGED <<vars, run, at, written>>

TraceNext == TraceStep \/ Stuck

(* What the last event did, if it was a transaction: all before it was       *)
(* judged before, and what ends later takes nothing from it.                 *)
IsLastUnderLiveSession ==
    LET last == Events[at - 1]
    IN at > 1 /\ last.action = "Transaction" =>
        IsUnderLiveSession([session_id |-> last.session_id, zxid |-> last.zxid])

Violated ==
    (IF EphemeralsHaveOwners THEN {} ELSE {"EphemeralsHaveOwners"})
    \cup (IF IsLastUnderLiveSession THEN {} ELSE {"OnlyLiveSessionsWrite"})

(* As a CONSTRAINT: tells what was found, and does not go on behind it.      *)
Watch ==
    IF Violated # {}
    THEN /\ PrintT(<<"stuck", run, at - 1, Shown, EnabledActions>>)
         /\ PrintT(<<"violated", run, at - 1, Violated>>)
         /\ FALSE
    ELSE IF at > Len(Events) THEN PrintT(<<"accepted", run, {}>>) /\ FALSE
    ELSE TRUE
=============================================================================
