----------------------------- MODULE ZkWatches ------------------------------
(* What a client learns from ZooKeeper without asking: one client, connected *)
(* to one server that may lag, watches the children of one znode while       *)
(* others create and delete them.                                            *)
(*                                                                           *)
(* A suspended session is a belief of the client: it has lost its server and *)
(* does not know yet whether it will be in time for another. Sessions that   *)
(* end are in `Zk`, data watches are left out: they fire alike.              *)
EXTENDS Integers, Sequences

CONSTANTS
    Names,          \* of the children
    Limits          \* how often each bounded thing may happen

VARIABLES
    children,       \* after each transaction: name -> czxid, 0 for none; its index is cversion + 1
    server_version, \* of the children: how far the client's server has come
    client,         \* its belief, its watch, what it saw and what it acted upon
    events,         \* notifications on their way to it
    budget          \* what is left of Limits

vars == <<children, server_version, client, events, budget>>

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

None == [name \in Names |-> 0]
CurrentVersion == Len(children) - 1
Current == children[Len(children)]
Served == children[server_version + 1]

Init ==
    /\ children = <<None>>
    /\ server_version = 0
    /\ client = [is_connected |-> TRUE, is_watching |-> FALSE, must_read |-> TRUE,
                 seen_version |-> 0, acted_on |-> None]
    /\ events = <<>>
    /\ budget = Limits

-----------------------------------------------------------------------------
(* Others *)

Change(name, czxid) ==
    /\ Spend("changes")
    /\ children' = Append(children, [Current EXCEPT ![name] = czxid])
    /\ UNCHANGED <<server_version, client, events>>

(* A child comes: the parent's cversion rises, and the czxid is one that no  *)
(* child had before. Other transactions are left out, so that cversion and   *)
(* zxid are one number.                                                      *)
Create(name) == Current[name] = 0 /\ Change(name, CurrentVersion + 1)

(* A child goes, and the parent's cversion rises too.                        *)
Delete(name) == Current[name] # 0 /\ Change(name, 0)

-----------------------------------------------------------------------------
(* The server *)

(* The server is at `version` from now on. If that is news to a watch, it    *)
(* fires, once, however many changes that were (and a watch that was set     *)
(* before the session moved fires for what it missed).                       *)
Serve(version, base) ==
    /\ server_version' = version
    /\ IF client.is_watching /\ version > base
       THEN /\ events' = Append(events, version)
            /\ client' = [client EXCEPT !.is_watching = FALSE, !.is_connected = TRUE]
       ELSE /\ UNCHANGED events
            /\ client' = [client EXCEPT !.is_connected = TRUE]

MayCatchUp == client.is_connected

(* The client's server learns of one more transaction.                       *)
CatchUp ==
    /\ MayCatchUp
    /\ server_version < CurrentVersion
    /\ Serve(server_version + 1, server_version)
    /\ UNCHANGED <<children, budget>>

-----------------------------------------------------------------------------
(* The client *)

(* A notification waits for nothing but its turn.                            *)
MayNotify == client.is_connected

(* The notification arrives. It tells that something changed, not what.      *)
FireWatch ==
    /\ MayNotify
    /\ events # <<>>
    /\ events' = Tail(events)
    /\ client' = [client EXCEPT !.must_read = TRUE]
    /\ UNCHANGED <<children, server_version, budget>>

(* What the client takes for the child from now on: the czxid tells it.      *)
Noticed(name) == Served[name]

(* Notifications about what a read returns come before it.                   *)
MayReturn == events = <<>>

(* The client lists the children and sets the watch in one call, because it  *)
(* was told to or of its own accord. What the server tells may be old.       *)
ListChildren ==
    /\ client.is_connected
    /\ MayReturn
    /\ client' = [client EXCEPT !.must_read = FALSE, !.is_watching = TRUE,
                                !.seen_version = server_version,
                                !.acted_on = [name \in Names |-> Noticed(name)]]
    /\ UNCHANGED <<children, server_version, events, budget>>

(* `sync` before a read: the answer comes when the server has all that was   *)
(* written before.                                                           *)
SyncServer ==
    /\ client.is_connected
    /\ client.must_read
    /\ events = <<>>
    /\ server_version < CurrentVersion
    /\ Spend("syncs")
    /\ server_version' = CurrentVersion
    /\ client' = [client EXCEPT !.seen_version = CurrentVersion]
    /\ UNCHANGED <<children, events>>

StaysWatching == client.is_watching \/ events # <<>>

(* The connection breaks: what was on its way is lost, and the client        *)
(* believes that its watch is set.                                           *)
SuspendSession ==
    /\ Spend("suspensions")
    /\ client.is_connected
    /\ events' = <<>>
    /\ client' = [client EXCEPT !.is_connected = FALSE,
                                !.is_watching = StaysWatching]
    /\ UNCHANGED <<children, server_version>>

MayServe(version) == version >= client.seen_version

(* The client finds a server in time, any that is not behind what it has     *)
(* seen, and sets its watch again, with the version that it has seen.        *)
ResumeSession ==
    /\ ~client.is_connected
    /\ \E version \in 0 .. CurrentVersion :
          /\ MayServe(version)
          /\ Serve(version, client.seen_version)
    /\ UNCHANGED <<children, budget>>

-----------------------------------------------------------------------------
Next ==
    \/ \E name \in Names : Create(name)
    \/ \E name \in Names : Delete(name)
    \/ CatchUp
    \/ FireWatch
    \/ ListChildren
    \/ SyncServer
    \/ SuspendSession
    \/ ResumeSession

(* A server catches up and notifies, a client finds a server again and reads *)
(* what it was told of. No fairness has the client that reads of its own     *)
(* accord, and none a fault. One condition for each: they do not wait for    *)
(* each other.                                                               *)
Fairness ==
    /\ WF_vars(CatchUp)
    /\ WF_vars(FireWatch)
    /\ WF_vars(ResumeSession)
    /\ WF_vars(client.must_read /\ ListChildren)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
Children == [Names -> 0 .. CurrentVersion]

TypeOK ==
    /\ \A i \in DOMAIN children : children[i] \in Children
    /\ \A i \in DOMAIN children \ {1} : \E name \in Names :
        /\ children[i] = [children[i - 1] EXCEPT ![name] = IF @ = 0 THEN i - 1 ELSE 0]
    /\ server_version \in 0 .. CurrentVersion
    /\ client \in [is_connected : BOOLEAN, is_watching : BOOLEAN, must_read : BOOLEAN,
                   seen_version : 0 .. CurrentVersion, acted_on : Children]
    /\ \A i \in DOMAIN events : events[i] \in 1 .. CurrentVersion
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]

(* What a client has read once it reads ever after, or what came later; so a *)
(* write that succeeded is seen by its author, and what was there at a       *)
(* `sync` is seen after it.                                                  *)
\* @req ZK-006
ReadsNeverGoBack == [][client'.seen_version >= client.seen_version]_vars

(* A client that reads a change has been told of it before, if it watched.   *)
\* @req CTL-004
NotifiedBeforeRead ==
    \A i \in DOMAIN events : events[i] > client.seen_version

(* When nothing is on its way any more, the client has acted upon the        *)
(* children that are there, each by its czxid.                               *)
\* @req TOP-003
ChildrenNoticed ==
    (/\ client.is_connected
     /\ ~client.must_read
     /\ events = <<>>
     /\ server_version = CurrentVersion) => client.acted_on = Current

(* A watch that is due fires: whoever watches and has not seen the children  *)
(* as they are is told to read, or has read of its own accord.               *)
\* @req CTL-004
DueWatchFires ==
    (client.is_watching /\ client.seen_version < CurrentVersion)
        ~> (client.must_read \/ client.seen_version = CurrentVersion)

(* What the client acts upon is what is there, once nothing changes any more.*)
\* @req TOP-003
EventuallyNoticed == <>[](client.acted_on = Current)

(* Does not hold, and that is a fact about ZooKeeper: what a client knows,   *)
(* and was not told against, may be old, because its server lags. A client   *)
(* that needs more asks for a `sync`, and what is decided on a read is       *)
(* written with the version that was read.                                   *)
ReadsAreFresh ==
    (client.is_connected /\ ~client.must_read /\ events = <<>>) => client.acted_on = Current

(* Does not hold, and that is a fact about ZooKeeper: a watch fires once,    *)
(* and what changes before the next read is told as one change.              *)
EveryChangeIsNotified ==
    events # <<>> => Len(events) = server_version - client.seen_version
=============================================================================
