--------------------------------- MODULE Zk ---------------------------------
(* ZooKeeper as its clients see it: sessions, ephemerals, versions, multi    *)
(* with check, and writes of which the reply is lost. A client is one        *)
(* process with at most one session and one operation in flight.             *)
(*                                                                           *)
(* Left out: the ensemble itself, and watches and reads that lag behind,     *)
(* which are `ZkWatches`. Writes are one total order of transactions,        *)
(* numbered by zxid.                                                         *)
EXTENDS Znodes

CONSTANTS
    Clients,
    Paths,
    Fence,          \* the path of the version that a fenced write checks
    Limits          \* how often each bounded thing may happen

VARIABLES
    znodes,         \* the tree
    zxid,           \* the last transaction
    sessions,       \* per client the session it believes in, and whether that lives
    results,        \* per client how its last write ended, as far as it knows
    history,        \* writes that took effect: what was asked for and what was there
    lives,          \* history: the transactions that began and ended sessions
    budget          \* what is left of Limits

vars == <<znodes, zxid, sessions, results, history, lives, budget>>

ASSUME Fence \in Paths

NoClientSession == [session_id |-> NoSession, is_live |-> FALSE]
LiveSessions == {sessions[c].session_id : c \in {c \in Clients : sessions[c].is_live}}

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

InitWith(begun) ==
    /\ znodes = [path \in Paths |-> Absent]
    /\ zxid = 0
    /\ sessions = [c \in Clients |-> NoClientSession]
    /\ results = [c \in Clients |-> [outcome |-> "none", effect |-> 0]]
    /\ history = {}
    /\ lives = begun
    /\ budget = Limits

Init == InitWith({})

Lived(session_id, event, transaction) ==
    {[session_id |-> session_id, event |-> event, zxid |-> transaction]}

-----------------------------------------------------------------------------
(* Sessions *)

(* A client without a live session gets a new one, which knows nothing of    *)
(* the one before. Its id is the transaction that made it.                   *)
CreateSession(c) ==
    /\ ~sessions[c].is_live
    /\ Spend("sessions")
    /\ zxid' = zxid + 1
    /\ sessions' = [sessions EXCEPT ![c] = [session_id |-> zxid + 1, is_live |-> TRUE]]
    /\ lives' = lives \cup Lived(zxid + 1, "begin", zxid + 1)
    /\ UNCHANGED <<znodes, results, history>>

(* The tree after the end of a session.                                      *)
Without(session_id) == WithoutSession(znodes, session_id)

End(c) ==
    /\ sessions[c].is_live
    /\ zxid' = zxid + 1
    /\ znodes' = Without(sessions[c].session_id)
    /\ lives' = lives \cup Lived(sessions[c].session_id, "end", zxid + 1)
    /\ UNCHANGED <<results, history>>

(* The client ends its session and knows it; its ephemerals go at once.      *)
CloseSession(c) ==
    /\ Spend("closes")
    /\ End(c)
    /\ sessions' = [sessions EXCEPT ![c] = NoClientSession]

(* ZooKeeper ends it after a silence. The client, expired but unaware, goes  *)
(* on believing in it; what it then asks for is refused.                     *)
ExpireSession ==
    /\ Spend("expiries")
    /\ \E c \in Clients : End(c) /\ sessions' = [sessions EXCEPT ![c].is_live = FALSE]

-----------------------------------------------------------------------------
(* Writes *)

(* What a client asks for, as ZooKeeper reads it.                            *)
Asked(op) == op

IsPermitted(c) == sessions[c].is_live

Transaction(ops) == Multi(znodes, ops, zxid + 1)

After(c, ops) ==
    IF IsPermitted(c) THEN Transaction([i \in DOMAIN ops |-> Asked(ops[i])])
    ELSE [ok |-> FALSE, tree |-> znodes]

Entry(c, ops) ==
    LET op == ops[Len(ops)]
        is_create == op.op = "create"
    IN [zxid |-> zxid + 1, op |-> op.op, path |-> op.path,
        czxid |-> IF is_create THEN zxid + 1 ELSE znodes[op.path].czxid,
        expected_version |-> IF is_create THEN -1 ELSE op.version,
        expected_fence |-> IF Len(ops) = 1 THEN znodes[Fence].version ELSE ops[1].version,
        fence |-> znodes[Fence].version,
        session_id |-> sessions[c].session_id]

(* One transaction, or none. A client that hears nothing knows nothing.      *)
Commit(c, ops, is_heard) ==
    LET after == After(c, ops)
        took_effect == after.tree # znodes
        outcome == IF ~is_heard THEN "unknown"
                   ELSE IF after.ok THEN "ok" ELSE "refused"
    IN /\ sessions[c].session_id # NoSession
       /\ zxid' = IF took_effect THEN zxid + 1 ELSE zxid
       /\ znodes' = after.tree
       /\ history' = IF took_effect THEN history \cup {Entry(c, ops)} ELSE history
       /\ results' = [results EXCEPT ![c] =
                        [outcome |-> outcome, effect |-> IF took_effect THEN zxid + 1 ELSE 0]]
       /\ UNCHANGED <<sessions, lives>>

(* Each write alone, or in one multi behind a check of the fence. The        *)
(* versions are any that the client may have read, stale ones included.      *)
Versions(path) == 0 .. (znodes[path].version + 1)
Fenced(op) ==
    {<<op>>} \cup {<<CheckOp(Fence, version), op>> : version \in 0 .. znodes[Fence].version}

Creates(c) == {CreateOp(path, c, owner) : path \in Paths,
                                          owner \in {NoSession, sessions[c].session_id}}
Changes(c) == UNION {{SetDataOp(path, c, version) : version \in Versions(path)} : path \in Paths}
Deletes == UNION {{DeleteOp(path, version) : version \in Versions(path)} : path \in Paths}

Ask(c, writes, is_heard) == \E op \in writes : \E ops \in Fenced(op) : Commit(c, ops, is_heard)

(* Create a znode, lasting or ephemeral, that must not exist.                *)
Create(c) == Spend("writes") /\ Ask(c, Creates(c), TRUE)

(* Replace the data of a znode that must have the version.                   *)
SetData(c) == Spend("writes") /\ Ask(c, Changes(c), TRUE)

(* Delete a znode that must have the version.                                *)
Delete(c) == Spend("writes") /\ Ask(c, Deletes, TRUE)

(* Any of these writes, done or refused, without the client hearing which.   *)
LoseReply ==
    /\ Spend("lost_replies")
    /\ \E c \in Clients :
          Ask(c, Creates(c), FALSE) \/ Ask(c, Changes(c), FALSE) \/ Ask(c, Deletes, FALSE)

-----------------------------------------------------------------------------
Next ==
    \/ \E c \in Clients : CreateSession(c)
    \/ \E c \in Clients : CloseSession(c)
    \/ \E c \in Clients : Create(c)
    \/ \E c \in Clients : SetData(c)
    \/ \E c \in Clients : Delete(c)
    \/ ExpireSession
    \/ LoseReply

-----------------------------------------------------------------------------
TypeOK ==
    /\ \A path \in Paths :
          /\ znodes[path].version >= -1
          /\ znodes[path].ephemeral_owner \in 0 .. zxid
          /\ znodes[path].czxid \in 0 .. zxid
    /\ sessions \in [Clients -> [session_id : 0 .. zxid, is_live : BOOLEAN]]
    /\ results \in [Clients -> [outcome : {"none", "ok", "refused", "unknown"}, effect : 0 .. zxid]]
    /\ \A entry \in history : entry.zxid \in 1 .. zxid /\ entry.path \in Paths
    /\ lives \subseteq [session_id : 1 .. zxid, event : {"begin", "end"}, zxid : 1 .. zxid]
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]

(* Within one life of a znode each version is replaced at most once: the     *)
(* znode is a compare-and-set register. That a write found the version that  *)
(* it expected is `SetDataOp` in `Znodes`.                                   *)
\* @req ZK-003
LinearizableZnode ==
    \A entry, other \in history :
        (/\ entry # other
         /\ entry.path = other.path
         /\ entry.czxid = other.czxid) => entry.expected_version # other.expected_version

(* An ephemeral exists only as long as the session that created it.          *)
\* @req CTL-001
EphemeralsHaveOwners ==
    \A path \in Paths :
        znodes[path].ephemeral_owner # NoSession => znodes[path].ephemeral_owner \in LiveSessions

(* A write in a multi with one check took effect only if the check held.     *)
\* @req ZK-005
MultiIsAtomic == \A entry \in history : entry.expected_fence = entry.fence

(* Nothing takes effect but under a session, and before that is over.        *)
\* @req ZK-006
OnlyLiveSessionsWrite ==
    \A entry \in history :
        LET before == {life.event : life \in {x \in lives : /\ x.session_id = entry.session_id
                                                          /\ x.zxid < entry.zxid}}
        IN before = {"begin"}

(* What was refused did not happen; only an unknown outcome leaves it open.  *)
\* @req ZK-006
RefusedHasNoEffect ==
    \A c \in Clients :
        /\ results[c].outcome = "refused" => results[c].effect = 0
        /\ results[c].outcome = "ok" => results[c].effect # 0

(* Does not hold, and that is a fact about ZooKeeper: a znode that is        *)
(* deleted and created again counts its versions from 0, so that a version   *)
(* read in its former life fits again. Only the czxid tells them apart.      *)
VersionsNeverRepeat ==
    \A entry, other \in history :
        (/\ entry # other
         /\ entry.path = other.path
         /\ entry.op = "set_data"
         /\ other.op = "set_data") => entry.expected_version # other.expected_version
=============================================================================
