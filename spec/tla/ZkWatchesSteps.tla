--------------------------- MODULE ZkWatchesSteps ---------------------------
(* What one step of `ZkWatches` may do to the children, the server, the watch*)
(* and what the client knows, whichever action takes it.                     *)
EXTENDS ZkWatches, FiniteSets

Spent(what) == budget'[what] < budget[what]
Moved(field) == client'[field] # client[field]
Read(version) == children[version + 1]

(* A client has set a watch, is being told that it fired, or is to read: one *)
(* of the three. Without a server nothing is on its way to it. A watch that  *)
(* its server holds has seen all that the server has.                        *)
\* @req CTL-004
WatchIsSetOrFired ==
    /\ Cardinality({is_due \in {<<"set", client.is_watching>>, <<"fired", events # <<>>>>,
                                <<"told", client.must_read>>} : is_due[2]}) = 1
    /\ Len(events) <= 1
    /\ ~client.is_connected => events = <<>>
    /\ client.is_connected => client.seen_version <= server_version
    /\ client.is_connected /\ client.is_watching => client.seen_version = server_version

(* Children come and go with a transaction of their own. A server that a     *)
(* client stays with learns of one after the other, or of all for a `sync`   *)
(* of a client that is to read; none forgets. A connection breaks as a fault,*)
(* with what was on its way: the watch is set again, at a server that is not *)
(* behind the client.                                                        *)
\* @req ZK-006
ServersCatchUp ==
    [][/\ children' # children <=> Spent("changes")
       /\ children' # children => UNCHANGED <<server_version, client, events>>
       /\ Spent("syncs") =>
            /\ client.is_connected /\ client.must_read
            /\ server_version < CurrentVersion /\ server_version' = CurrentVersion
            /\ client' = [client EXCEPT !.seen_version = CurrentVersion]
            /\ UNCHANGED <<children, events>>
       /\ server_version' # server_version =>
            \/ Spent("syncs")
            \/ ~client.is_connected
            \/ client.is_connected /\ client'.is_connected /\ server_version' = server_version + 1
       /\ client.is_connected /\ ~client'.is_connected <=> Spent("suspensions")
       /\ Spent("suspensions") =>
            /\ client' = [client EXCEPT !.is_connected = FALSE, !.is_watching = ~client.must_read]
            /\ UNCHANGED <<children, server_version>>
       /\ ~client.is_connected /\ client'.is_connected => server_version' >= client.seen_version
      ]_vars

(* A watch goes when it fires, which takes news and sends one notification.  *)
(* That arrives, and then the client is to read; or it is lost with the      *)
(* connection, and the watch is set again.                                   *)
\* @req CTL-004
WatchesFire ==
    [][/\ client.is_watching /\ ~client'.is_watching =>
            /\ events' = Append(events, server_version')
            /\ server_version' > client.seen_version
            /\ client' = [client EXCEPT !.is_watching = FALSE, !.is_connected = TRUE]
       /\ Len(events') > Len(events) => client.is_watching /\ ~client'.is_watching
       /\ Len(events') < Len(events) =>
            /\ client.is_connected
            /\ IF client'.is_connected
               THEN events' = Tail(events) /\ client' = [client EXCEPT !.must_read = TRUE]
               ELSE events' = <<>> /\ client'.is_watching
            /\ UNCHANGED <<children, server_version>>
       /\ client'.must_read /\ ~client.must_read => Len(events') < Len(events)]_vars

(* A client reads of its server what that has, and sets a watch with it.     *)
(* Nothing else tells it of children.                                        *)
\* @req TOP-003
ClientsRead ==
    [][/\ Moved("acted_on") \/ (client.must_read /\ ~client'.must_read)
            \/ (client'.is_watching /\ ~client.is_watching /\ client'.is_connected) =>
            /\ client.is_connected
            /\ client' = [is_connected |-> TRUE, is_watching |-> TRUE, must_read |-> FALSE,
                          seen_version |-> server_version, acted_on |-> Read(server_version)]
            /\ UNCHANGED <<children, server_version, events, budget>>
       /\ Moved("seen_version") => client.is_connected /\ client'.seen_version = server_version']_vars

(* A client that has lost its server finds another in the end.               *)
\* @req ZK-006
SessionsResume == ~client.is_connected ~> client.is_connected
=============================================================================
