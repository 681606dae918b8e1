--------------------------------- MODULE Zk ---------------------------------
(* ZooKeeper as its clients see it: sessions, ephemerals, versions, multi    *)
(* with check, and writes of which the author does not know what became. A   *)
(* client has one session and one write at a time, but may leave both behind *)
(* and go on under a new session, while ZooKeeper still has the old one.     *)
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
    abandoned,      \* per client the live sessions that it has left behind
    requests,       \* writes on their way to ZooKeeper
    results,        \* per client its last write, and how that ended as far as it knows
    history,        \* writes that took effect: what was asked for and what was there
    lives,          \* history: the transactions that began and ended sessions
    budget          \* what is left of Limits

vars ==
    <<znodes, zxid, sessions, abandoned, requests, results, history, lives, budget>>

ASSUME Fence \in Paths

NoClientSession == [session_id |-> NoSession, is_live |-> FALSE]
LiveSessions ==
    {sessions[c].session_id : c \in {c \in Clients : sessions[c].is_live}}
        \cup UNION {abandoned[c] : c \in Clients}

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

(* `effect` is history: the transaction of the write, 0 as long as it has    *)
(* none.                                                                     *)
NoResult == [outcome |-> "none", asked |-> <<>>, effect |-> 0]

InitWith(begun) ==
    /\ znodes = [path \in Paths |-> Absent]
    /\ zxid = 0
    /\ sessions = [c \in Clients |-> NoClientSession]
    /\ abandoned = [c \in Clients |-> {}]
    /\ requests = {}
    /\ results = [c \in Clients |-> NoResult]
    /\ history = {}
    /\ lives = begun
    /\ budget = Limits

Init == InitWith({})

Lived(session_id, event, transaction) ==
    {[session_id |-> session_id, event |-> event, zxid |-> transaction]}

-----------------------------------------------------------------------------
(* Sessions *)

(* Whoever waits no longer for an answer does not know.                      *)
GivenUp(c) ==
    [results EXCEPT ![c].outcome = IF @ = "waiting" THEN "unknown" ELSE @]

(* A client without a live session gets a new one, which knows nothing of    *)
(* the one before. Its id is the transaction that made it.                   *)
CreateSession(c) ==
    /\ ~sessions[c].is_live
    /\ Spend("sessions")
    /\ zxid' = zxid + 1
    /\ sessions' = [sessions EXCEPT ![c] = [session_id |-> zxid + 1, is_live |-> TRUE]]
    /\ lives' = lives \cup Lived(zxid + 1, "begin", zxid + 1)
    /\ results' = GivenUp(c)
    /\ UNCHANGED <<znodes, abandoned, requests, history>>

(* The tree after the end of a session.                                      *)
Without(session_id) == WithoutSession(znodes, session_id)

End(session_id) ==
    /\ zxid' = zxid + 1
    /\ znodes' = Without(session_id)
    /\ lives' = lives \cup Lived(session_id, "end", zxid + 1)
    /\ UNCHANGED <<requests, history>>

(* The client ends its session and knows it; its ephemerals go at once.      *)
CloseSession(c) ==
    /\ Spend("closes")
    /\ sessions[c].is_live
    /\ End(sessions[c].session_id)
    /\ sessions' = [sessions EXCEPT ![c] = NoClientSession]
    /\ UNCHANGED <<abandoned, results>>

(* The client crashes, or gives up a session that does not answer. ZooKeeper *)
(* does not know: the session lives on with its ephemerals, and what was     *)
(* asked for under it is still on its way.                                   *)
AbandonSession(c) ==
    /\ Spend("abandonments")
    /\ sessions[c].is_live
    /\ sessions' = [sessions EXCEPT ![c] = NoClientSession]
    /\ abandoned' = [abandoned EXCEPT ![c] = @ \cup {sessions[c].session_id}]
    /\ results' = GivenUp(c)
    /\ UNCHANGED <<znodes, zxid, requests, history, lives>>

(* A client that is silent for too long, expired but unaware, goes on        *)
(* believing in its session; what it then asks for is refused.               *)
ExpireSilent ==
    /\ Spend("expiries")
    /\ \E c \in Clients :
          /\ sessions[c].is_live
          /\ End(sessions[c].session_id)
          /\ sessions' = [sessions EXCEPT ![c].is_live = FALSE]
    /\ UNCHANGED abandoned

(* What keeps a session alive is its client, and nothing else.               *)
IsSilent(session_id) == TRUE

ExpireOrphan ==
    /\ \E c \in Clients : \E session_id \in abandoned[c] :
          /\ IsSilent(session_id)
          /\ End(session_id)
          /\ abandoned' = [abandoned EXCEPT ![c] = @ \ {session_id}]
    /\ UNCHANGED <<sessions, budget>>

(* ZooKeeper ends a session after a silence: that of a client that still     *)
(* believes in it, which is a fault, or one that was left behind.            *)
ExpireSession ==
    /\ ExpireSilent \/ ExpireOrphan
    /\ UNCHANGED results

-----------------------------------------------------------------------------
(* Writes *)

Write(ops) == ops[Len(ops)]

(* Each write alone, or in one multi behind a check of the fence. Versions   *)
(* are those that are there when the client asks, and may be old when the    *)
(* request arrives. The content tells the writes apart.                      *)
Fenced(op) ==
    {<<op>>} \cup (IF Exists(znodes, Fence)
                   THEN {<<CheckOp(Fence, znodes[Fence].version), op>>} ELSE {})

Content == budget["writes"]
Writes(c, path) ==
    IF Exists(znodes, path)
    THEN {SetDataOp(path, Content, znodes[path].version), DeleteOp(path, znodes[path].version)}
    ELSE {CreateOp(path, Content, owner) : owner \in {NoSession, sessions[c].session_id}}

(* The client asks for one write, and waits.                                 *)
SendRequest(c) ==
    /\ Spend("writes")
    /\ sessions[c].session_id # NoSession
    /\ results[c].outcome # "waiting"
    /\ \E path \in Paths : \E op \in Writes(c, path) : \E ops \in Fenced(op) :
          LET r == [client |-> c, session_id |-> sessions[c].session_id, number |-> Content,
                    ops |-> ops, seen |-> znodes[path]]
          IN /\ requests' = requests \cup {r}
             /\ results' = [results EXCEPT ![c] =
                              [outcome |-> "waiting", asked |-> <<r>>, effect |-> 0]]
    /\ UNCHANGED <<znodes, zxid, sessions, abandoned, history, lives>>

(* What a client asks for, as ZooKeeper reads it.                            *)
Asked(op) == op

IsPermitted(session_id) == session_id \in LiveSessions

Transaction(ops) == Multi(znodes, ops, zxid + 1)

After(r) ==
    IF IsPermitted(r.session_id) THEN Transaction([i \in DOMAIN r.ops |-> Asked(r.ops[i])])
    ELSE [ok |-> FALSE, tree |-> znodes]

Entry(r) ==
    LET op == Write(r.ops)
        is_create == op.op = "create"
    IN [zxid |-> zxid + 1, op |-> op.op, path |-> op.path,
        czxid |-> IF is_create THEN zxid + 1 ELSE znodes[op.path].czxid,
        expected_version |-> IF is_create THEN -1 ELSE op.version,
        expected_fence |-> IF Len(r.ops) = 1 THEN znodes[Fence].version ELSE r.ops[1].version,
        fence |-> znodes[Fence].version,
        session_id |-> r.session_id]

IsAwaited(r) == results[r.client].outcome = "waiting" /\ results[r.client].asked = <<r>>

(* A request that cannot be done is answered too.                            *)
IsAnswered(r) == TRUE

(* One transaction, or none. A client that hears nothing knows nothing.      *)
Serve(r, is_heard) ==
    LET after == After(r)
        took_effect == after.tree # znodes
        heard == IF ~is_heard THEN "unknown" ELSE IF after.ok THEN "ok" ELSE "refused"
    IN /\ IsAnswered(r)
       /\ requests' = requests \ {r}
       /\ zxid' = IF took_effect THEN zxid + 1 ELSE zxid
       /\ znodes' = after.tree
       /\ history' = IF took_effect THEN history \cup {Entry(r)} ELSE history
       /\ results' = [results EXCEPT ![r.client] =
                        [@ EXCEPT !.outcome = IF IsAwaited(r) THEN heard ELSE @,
                                  !.effect = IF took_effect /\ results[r.client].asked = <<r>>
                                             THEN zxid + 1 ELSE @]]
       /\ UNCHANGED <<sessions, abandoned, lives>>

ServeOf(c, kind) == \E r \in requests : r.client = c /\ Write(r.ops).op = kind /\ Serve(r, TRUE)

(* ZooKeeper creates a znode, lasting or ephemeral, that must not exist, or  *)
(* refuses. Of a session that was left behind the author hears no answer.    *)
Create(c) == ServeOf(c, "create") /\ UNCHANGED budget

(* ZooKeeper replaces the data of a znode that must have the version.        *)
SetData(c) == ServeOf(c, "set_data") /\ UNCHANGED budget

(* ZooKeeper deletes a znode that must have the version.                     *)
Delete(c) == ServeOf(c, "delete") /\ UNCHANGED budget

(* Any of these writes, done or refused, without the client hearing which.   *)
LoseReply ==
    /\ Spend("lost_replies")
    /\ \E r \in requests : IsAwaited(r) /\ Serve(r, FALSE)

(* A write never arrives, or is on its way still when the connection breaks, *)
(* and its author knows as little.                                           *)
LoseRequest ==
    /\ Spend("lost_requests")
    /\ \E r \in requests :
          /\ IsAwaited(r)
          /\ requests' \in {requests, requests \ {r}}
          /\ results' = GivenUp(r.client)
    /\ UNCHANGED <<znodes, zxid, sessions, abandoned, history, lives>>

-----------------------------------------------------------------------------
(* What reading settles *)

(* The znode has what the client wrote. Each write has content of its own.   *)
IsOwn(r, znode) ==
    LET op == Write(r.ops)
    IN op.op # "delete" /\ znode.version = r.seen.version + 1 /\ znode.data = op.data

(* Another write has replaced the version that this one expects.             *)
IsTaken(r, znode) ==
    /\ znode.czxid = r.seen.czxid
    /\ znode.version = r.seen.version + 1
    /\ ~IsOwn(r, znode)

(* Nothing was done to it yet. What was not there may have come and gone.    *)
IsAsSeen(r, znode) == r.seen # Absent /\ znode = r.seen

(* A write comes no more when its session is over, or is the one that reads. *)
IsTooLate(c, r) ==
    r.session_id = sessions[c].session_id \/ r.session_id \notin LiveSessions

Settled(c, r) ==
    LET znode == znodes[Write(r.ops).path]
    IN IF IsOwn(r, znode) THEN "ok"
       ELSE IF IsTaken(r, znode) \/ (IsAsSeen(r, znode) /\ IsTooLate(c, r)) THEN "refused"
       ELSE "unknown"

IsUnsure(c) == results[c].outcome = "unknown"

(* What a session reads comes after what it wrote before.                    *)
IsInOrder(c) == \A r \in requests : r.session_id # sessions[c].session_id

MaySettle(c) == IsUnsure(c) /\ sessions[c].is_live /\ IsInOrder(c)

(* A client that does not know reads the znode, behind a `sync` where its    *)
(* session is a new one. Its own content says that the write was done, the   *)
(* content of before says that it was not, if it cannot be done any more.    *)
(* Often enough neither is there, and the author never knows.                *)
SettleWrite(c) ==
    /\ MaySettle(c)
    /\ Settled(c, results[c].asked[1]) # "unknown"
    /\ results' = [results EXCEPT ![c].outcome = Settled(c, results[c].asked[1])]
    /\ UNCHANGED <<znodes, zxid, sessions, abandoned, requests, history, lives, budget>>

-----------------------------------------------------------------------------
Next ==
    \/ \E c \in Clients : CreateSession(c)
    \/ \E c \in Clients : CloseSession(c)
    \/ \E c \in Clients : AbandonSession(c)
    \/ \E c \in Clients : SendRequest(c)
    \/ \E c \in Clients : Create(c)
    \/ \E c \in Clients : SetData(c)
    \/ \E c \in Clients : Delete(c)
    \/ \E c \in Clients : SettleWrite(c)
    \/ ExpireSession
    \/ LoseReply
    \/ LoseRequest

ExpireAbandoned == ExpireOrphan /\ UNCHANGED results

(* The servers serve each client in the end, and end the sessions that were  *)
(* left behind; a client that does not know reads. Faults have no fairness,  *)
(* and what a client wants it need not want.                                 *)
Fairness ==
    /\ \A c \in Clients :
          /\ WF_vars(Create(c) \/ SetData(c) \/ Delete(c))
          /\ WF_vars(SettleWrite(c))
    /\ WF_vars(ExpireAbandoned)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
Outcomes == {"none", "waiting", "ok", "refused", "unknown"}

TypeOK ==
    /\ \A path \in Paths :
          /\ znodes[path].version >= -1
          /\ znodes[path].ephemeral_owner \in 0 .. zxid
          /\ znodes[path].czxid \in 0 .. zxid
    /\ sessions \in [Clients -> [session_id : 0 .. zxid, is_live : BOOLEAN]]
    /\ abandoned \in [Clients -> SUBSET (1 .. zxid)]
    /\ \A r \in requests : r.client \in Clients /\ r.session_id \in 1 .. zxid
    /\ \A c \in Clients :
          /\ results[c].outcome \in Outcomes
          /\ Len(results[c].asked) = IF results[c].outcome = "none" THEN 0 ELSE 1
          /\ results[c].effect \in 0 .. zxid
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

IsUnderLiveSession(entry) ==
    LET before == {life.event : life \in {x \in lives : /\ x.session_id = entry.session_id
                                                      /\ x.zxid < entry.zxid}}
    IN before = {"begin"}

(* Nothing takes effect but under a session, and before that is over.        *)
\* @req ZK-006
OnlyLiveSessionsWrite == \A entry \in history : IsUnderLiveSession(entry)

(* What was refused did not happen and never will, and what is known to be   *)
(* done was done: told by ZooKeeper, or found by reading.                    *)
\* @req ZK-006
RefusedHasNoEffect ==
    \A c \in Clients :
        /\ results[c].outcome = "refused" => results[c].effect = 0
        /\ results[c].outcome = "ok" => results[c].effect # 0

(* A client waits for one request at a time, which is on its way, and waits  *)
(* under the session that asked.                                             *)
\* @req ZK-006
WaitsForAnAnswer ==
    \A c \in Clients : results[c].outcome = "waiting" =>
        /\ results[c].asked[1] \in requests
        /\ sessions[c].session_id \in {NoSession, results[c].asked[1].session_id}

(* An answer is the last word: a client that does not know can learn, under  *)
(* a session that lives; one that knows asks for something else. What is     *)
(* served is served once, and what takes effect does so once.                *)
\* @req ZK-006
AnswersAreFinal ==
    [][/\ \A r \in requests \ requests' : requests' = requests \ {r}
       /\ \A c \in Clients : LET now == results[c] next == results'[c] IN
            /\ next.asked # now.asked =>
                /\ next.outcome = "waiting" /\ now.outcome # "waiting"
                /\ next.asked[1] \in requests' \ requests
            /\ next.asked = now.asked =>
                /\ next.outcome = now.outcome \/ now.outcome \in {"waiting", "unknown"}
                /\ now.outcome = "unknown" /\ next.outcome # "unknown" => sessions[c].is_live
                /\ next.effect # now.effect => now.effect = 0 /\ next.effect = zxid']_vars

(* What changes the tree is a transaction of its own, with the next number,  *)
(* and what it creates bears that.                                           *)
\* @req ZK-003
TransactionsAreNumbered ==
    [][/\ zxid' \in {zxid, zxid + 1}
       /\ znodes' # znodes => zxid' = zxid + 1
       /\ \A path \in Paths :
            znodes'[path].czxid \in {0, znodes[path].czxid, zxid'}
       /\ \A path \in Paths : Exists(znodes', path) /\ ~Exists(znodes, path) =>
            znodes'[path].czxid = zxid']_vars

(* A session is a new one, of a client that has none, and ends for good.     *)
\* @req CTL-001
SessionsAreNew ==
    [][\A c \in Clients : LET now == sessions[c] next == sessions'[c] IN
        /\ next.is_live /\ next # now => ~now.is_live /\ next.session_id = zxid' /\ zxid' > zxid
        /\ now.is_live /\ ~next.is_live =>
            now.session_id \notin LiveSessions' \/ now.session_id \in abandoned'[c]
        /\ \A left \in abandoned[c] \ abandoned'[c] : left \notin LiveSessions']_vars

(* What a bound allows changes something else than what is left of it.       *)
BoundedStepsHaveEffect ==
    [][budget' # budget => <<zxid, sessions, results>>' # <<zxid, sessions, results>>]_vars

IsContentThere(c) ==
    \E i \in DOMAIN results[c].asked :
        LET r == results[c].asked[i]
            path == Write(r.ops).path
        IN Exists(znodes, path) /\ znodes[path].data = r.number

(* Each request is answered, or its author knows that no answer comes.       *)
\* @req ZK-006
RequestsAnswered ==
    \A c \in Clients : results[c].outcome = "waiting" ~> results[c].outcome # "waiting"

(* A client with a session comes to know that its own content is there.      *)
\* @req ZK-006
OwnWriteRecognised ==
    \A c \in Clients :
        (IsUnsure(c) /\ sessions[c].is_live /\ IsContentThere(c))
            ~> ~(IsUnsure(c) /\ sessions[c].is_live /\ IsContentThere(c))

(* The session of a client that crashed, or went on without it, ends.        *)
\* @req CTL-001
AbandonedSessionsEnd == \A c \in Clients : abandoned[c] # {} ~> abandoned[c] = {}

(* Does not hold, and that is a fact about ZooKeeper: a znode that is        *)
(* deleted and created again counts its versions from 0, so that a version   *)
(* read in its former life fits again. Only the czxid tells them apart.      *)
VersionsNeverRepeat ==
    \A entry, other \in history :
        (/\ entry # other
         /\ entry.path = other.path
         /\ entry.op = "set_data"
         /\ other.op = "set_data") => entry.expected_version # other.expected_version

-----------------------------------------------------------------------------
(* What must be possible: what a client does not know is found out, and a    *)
(* write that comes late, under a session that its author has replaced,      *)
(* takes effect all the same.                                                *)
WriteFoundDone == \E c \in Clients : MaySettle(c) /\ Settled(c, results[c].asked[1]) = "ok"
WriteFoundLost ==
    \E c \in Clients :
        /\ MaySettle(c)
        /\ LET r == results[c].asked[1]
           IN Settled(c, r) = "refused" /\ IsAsSeen(r, znodes[Write(r.ops).path])
WriteTakesEffectLate ==
    \E c \in Clients :
        /\ results[c].effect > sessions[c].session_id
        /\ sessions[c].session_id > results[c].asked[1].session_id
=============================================================================
