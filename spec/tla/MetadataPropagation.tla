------------------------ MODULE MetadataPropagation -------------------------
(* What every broker is told: the controller publishes a leader in ZooKeeper *)
(* and sends it to every broker twice, as a command (LeaderAndIsr) and as    *)
(* metadata (UpdateMetadata); clients ask any broker for metadata and send   *)
(* their writes where it points. One partition, one controller, one client   *)
(* with one write. What a broker takes of several controllers, and across    *)
(* its own bounces, is `MetadataBodies`'.                                    *)
(*                                                                           *)
(* All brokers are the ISR, so that a write is acknowledged when every       *)
(* broker obeys the leader that took it; records are `Replication`'s. The    *)
(* controller knows which brokers are up, and which request was not          *)
(* answered.                                                                 *)
EXTENDS Znodes

CONSTANTS
    Brokers,        \* positive numbers
    DownAtFirst,    \* those that have crashed before the start
    Limits          \* how often each bounded thing may happen

VARIABLES
    znodes,         \* the state of the partition
    brokers,        \* per broker its role and its metadata
    sent,           \* what the controller has sent and need not repeat
    messages,       \* requests in flight: any may be late or overtaken
    client,         \* where the client believes the leader to be, and its write
    budget,         \* what is left of Limits
    told            \* history: per broker the newest command since it started

vars == <<znodes, brokers, sent, messages, client, budget, told>>

NoBroker == -1
Unknown == [leader |-> NoBroker, leader_epoch |-> -1]
StatePath == "/brokers/topics/t/0/leaderAndISR"
State == znodes[StatePath].data

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

Stopped(status) == [status |-> status, obeyed |-> Unknown, metadata |-> Unknown]
IsUp(b) == brokers[b].status = "up"
IsLeading(b) == IsUp(b) /\ brokers[b].obeyed.leader = b

FirstLeader == CHOOSE b \in Brokers : \A other \in Brokers : b <= other
FirstState == [leader |-> FirstLeader, leader_epoch |-> 0]

Request(kind, b) == [kind |-> kind, to |-> b, state |-> State]

(* Every broker that is up knows the first leader; it is going to be told    *)
(* once more.                                                                *)
Init ==
    /\ znodes = [path \in {StatePath} |-> [data |-> FirstState, version |-> 0,
                                           ephemeral_owner |-> NoSession, czxid |-> 0]]
    /\ brokers = [b \in Brokers |->
                    IF b \in DownAtFirst THEN Stopped("down")
                    ELSE [status |-> "up", obeyed |-> FirstState, metadata |-> FirstState]]
    /\ sent = {Request("LeaderAndIsr", b) : b \in Brokers}
    /\ messages = {}
    /\ client = [view |-> FirstState, is_view_stale |-> FALSE, is_acknowledged |-> FALSE]
    /\ budget = Limits
    /\ told = [b \in Brokers |-> IF b \in DownAtFirst THEN Unknown ELSE FirstState]

States == {Unknown} \cup [leader : Brokers, leader_epoch : 0 .. Limits["elections"]]

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ State \in States \ {Unknown}
    /\ brokers \in [Brokers -> [status : {"up", "down"}, obeyed : States, metadata : States]]
    /\ \A m \in messages \cup sent :
          /\ m.kind \in {"LeaderAndIsr", "UpdateMetadata"}
          /\ m.to \in Brokers
          /\ m.state \in States \ {Unknown}
    /\ client \in [view : States, is_view_stale : BOOLEAN, is_acknowledged : BOOLEAN]
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]
    /\ told \in [Brokers -> States]

-----------------------------------------------------------------------------
(* Another broker leads: published first, sent afterwards (FAIL-006). Why is *)
(* `LeaderAndIsr`'s.                                                         *)
ElectLeader ==
    /\ Spend("elections")
    /\ \E b \in Brokers \ {State.leader} :
          LET state == [leader |-> b, leader_epoch |-> State.leader_epoch + 1]
          IN znodes' = Multi(znodes, <<SetDataOp(StatePath, state, AnyVersion)>>, 0).tree
    /\ UNCHANGED <<brokers, sent, messages, client, told>>

Send(kind, b) ==
    LET request == Request(kind, b)
    IN /\ request \notin sent
       /\ sent' = sent \cup {request}
       /\ messages' = messages \cup {request}
       /\ UNCHANGED <<znodes, brokers, client, budget, told>>

(* The command, to every broker of the partition, until it is answered.      *)
SendLeaderAndIsr(b) == IsUp(b) /\ Send("LeaderAndIsr", b)

(* Metadata is for every broker that is up.                                  *)
IsToldMetadata(b) == IsUp(b)

(* The same state as metadata, until each has answered. One body serves them *)
(* all (UMD-001).                                                            *)
SendUpdateMetadata(b) == IsToldMetadata(b) /\ Send("UpdateMetadata", b)

Receive(b, m) == m.to = b /\ messages' = messages \ {m}

Obey(b, is_leader) ==
    /\ \E m \in messages :
          /\ m.kind = "LeaderAndIsr"
          /\ Receive(b, m)
          /\ is_leader = (m.state.leader = b)
          /\ m.state.leader_epoch > brokers[b].obeyed.leader_epoch
          /\ brokers' = [brokers EXCEPT ![b].obeyed = m.state]
          /\ told' = [told EXCEPT ![b] = m.state]
    /\ UNCHANGED <<znodes, sent, client, budget>>

(* The broker is leader from now on, and not before: ZooKeeper and others    *)
(* may have said so earlier (V3 discussion 6).                               *)
BecomeLeader(b) == IsUp(b) /\ Obey(b, TRUE)

(* The broker leads no longer, or follows another.                           *)
BecomeFollower(b) == IsUp(b) /\ Obey(b, FALSE)

IsNewMetadata(b, state) == state.leader_epoch > brokers[b].metadata.leader_epoch

(* A broker takes metadata that is newer than its own; older metadata, late  *)
(* or from elsewhere, changes nothing.                                       *)
UpdateMetadata(b) ==
    /\ \E m \in messages :
          /\ m.kind = "UpdateMetadata"
          /\ IsUp(b)
          /\ Receive(b, m)
          /\ brokers' = [brokers EXCEPT
                            ![b].metadata = IF IsNewMetadata(b, m.state) THEN m.state ELSE @]
    /\ UNCHANGED <<znodes, sent, client, budget, told>>

(* What was not answered is due again.                                       *)
SentOnceLost(m) == sent \ {m}

(* A request is lost, and the controller learns that it was not answered.    *)
LoseMessage ==
    /\ Spend("losses")
    /\ \E m \in messages : messages' = messages \ {m} /\ sent' = SentOnceLost(m)
    /\ UNCHANGED <<znodes, brokers, client, told>>

(* A broker stops, and forgets everything but its log. Requests to it that   *)
(* are in flight are for another incarnation then (`Fencing`) and count as   *)
(* lost.                                                                     *)
CrashBroker(b) ==
    /\ Spend("crashes")
    /\ IsUp(b)
    /\ brokers' = [brokers EXCEPT ![b] = Stopped("down")]
    /\ messages' = {m \in messages : m.to # b}
    /\ told' = [told EXCEPT ![b] = Unknown]
    /\ UNCHANGED <<znodes, sent, client>>

(* To an arrival the controller sends everything, as if nothing had been sent*)
(* before.                                                                   *)
SentOnceArrived(b) == {m \in sent : m.to # b}

(* It is up again and knows nothing: neither roles nor metadata.             *)
RestartBroker(b) ==
    /\ brokers[b].status = "down"
    /\ brokers' = [brokers EXCEPT ![b] = Stopped("up")]
    /\ sent' = SentOnceArrived(b)
    /\ UNCHANGED <<znodes, messages, client, budget, told>>

-----------------------------------------------------------------------------
IsNewToClient(metadata) == metadata.leader_epoch >= client.view.leader_epoch

IsToAsk == client.is_view_stale

(* The client asks any broker that is up and has metadata, and keeps the     *)
(* newer of the answer and what it knew.                                     *)
FetchMetadata ==
    /\ IsToAsk
    /\ ~client.is_acknowledged
    /\ \E b \in Brokers :
          /\ IsUp(b)
          /\ brokers[b].metadata # Unknown
          /\ client' = [client EXCEPT
                            !.is_view_stale = FALSE,
                            !.view = IF IsNewToClient(brokers[b].metadata)
                                     THEN brokers[b].metadata ELSE @]
    /\ UNCHANGED <<znodes, brokers, sent, messages, budget, told>>

(* Every member of the ISR obeys this leader: it gets its acknowledgement. A *)
(* leader that was replaced waits in vain, and its client gives up.          *)
IsFollowedByAll(b) == \A other \in Brokers : IsUp(other) /\ brokers[other].obeyed = brokers[b].obeyed

Acknowledges(b) == IsLeading(b) /\ IsFollowedByAll(b)

(* The client sends its write to the leader that it knows of. A broker that  *)
(* does not lead answers NOT_LEADER, which the client may retry (CLI-003); a *)
(* leader that cannot commit does not answer. Both make it ask for metadata. *)
RouteProduce ==
    LET b == client.view.leader
        is_acknowledged == Acknowledges(b)
    IN /\ ~client.is_view_stale
       /\ ~client.is_acknowledged
       /\ client' = [client EXCEPT !.is_acknowledged = is_acknowledged,
                                   !.is_view_stale = ~is_acknowledged]
       /\ UNCHANGED <<znodes, brokers, sent, messages, budget, told>>

-----------------------------------------------------------------------------
Next ==
    \/ ElectLeader
    \/ \E b \in Brokers : SendLeaderAndIsr(b)
    \/ \E b \in Brokers : SendUpdateMetadata(b)
    \/ \E b \in Brokers : BecomeLeader(b)
    \/ \E b \in Brokers : BecomeFollower(b)
    \/ \E b \in Brokers : UpdateMetadata(b)
    \/ LoseMessage
    \/ \E b \in Brokers : CrashBroker(b)
    \/ \E b \in Brokers : RestartBroker(b)
    \/ FetchMetadata
    \/ RouteProduce

(* What goes on without a fault ends by itself, so that one fairness is      *)
(* enough for all of it; the client may go round for ever.                   *)
Heal ==
    \E b \in Brokers :
        \/ RestartBroker(b) \/ SendLeaderAndIsr(b) \/ SendUpdateMetadata(b)
        \/ BecomeLeader(b) \/ BecomeFollower(b) \/ UpdateMetadata(b)

Spec == Init /\ [][Next]_vars /\ WF_vars(Heal) /\ WF_vars(FetchMetadata \/ RouteProduce)

-----------------------------------------------------------------------------
(* No broker acknowledges a write because a client took it for the leader:   *)
(* it was told to lead, and all were told to follow.                         *)
\* @req CLI-003
\* @req REPL-007
OnlyLeadersAcknowledge ==
    [][client'.is_acknowledged /\ ~client.is_acknowledged
        => \A b \in Brokers :
              /\ told[b].leader = client.view.leader
              /\ told[b] = told[client.view.leader]]_vars

(* The metadata of a broker never goes back while it is up.                  *)
\* @req UMD-002
MetadataNeverGoesBack ==
    [][\A b \in Brokers :
        brokers'[b].metadata.leader_epoch < brokers[b].metadata.leader_epoch
            => brokers'[b].status = "down"]_vars

(* What a client knows of a partition never becomes older, whichever broker  *)
(* it asks; once it is acknowledged it asks no more, and before it sends     *)
(* again it asks a broker that knows something.                              *)
\* @req CLI-003
ClientNeverGoesBack ==
    [][/\ client'.view.leader_epoch >= client.view.leader_epoch
       /\ client.is_acknowledged => client' = client
       /\ client.is_view_stale /\ client' # client => \E b \in Brokers :
            /\ ~client'.is_view_stale /\ ~client'.is_acknowledged
            /\ brokers[b].metadata.leader_epoch \in 0 .. client'.view.leader_epoch
       /\ client'.view # client.view => \E b \in Brokers : client'.view = brokers[b].metadata
      ]_vars

(* A client asks for metadata when its write was not taken, and not before.  *)
\* @req CLI-003
ClientAsksWhenRefused ==
    [][client'.view # client.view => client.is_view_stale /\ ~client'.is_view_stale]_vars

(* What a process knows ends with it, and what was on its way to it is lost. *)
(* A client that is acknowledged has nothing to ask.                         *)
\* @req BEP-007
MemoryEnds ==
    /\ \A b \in Brokers : IsUp(b) \/ brokers[b] = Stopped("down")
    /\ \A m \in messages : IsUp(m.to) /\ m \in sent
    /\ client.is_acknowledged => ~client.is_view_stale

(* What the controller need not repeat is on its way or has come: the broker *)
(* knows that, or what is newer. No command that it obeyed is on its way.    *)
\* @req UMD-002
\* @req BEP-007
SentIsOnItsWay ==
    \A request \in sent : LET broker == brokers[request.to] IN
        /\ \/ broker.status = "down"
           \/ request \in messages
           \/ request.state.leader_epoch <= IF request.kind = "LeaderAndIsr"
                                            THEN broker.obeyed.leader_epoch
                                            ELSE broker.metadata.leader_epoch
        /\ request.kind = "LeaderAndIsr" /\ request \in messages =>
            request.state # broker.obeyed

(* What a bound allows changes something else than what is left of it.       *)
BoundedStepsHaveEffect ==
    [][budget' # budget => <<znodes, brokers, sent>>' # <<znodes, brokers, sent>>]_vars

(* A request tells what ZooKeeper holds when it is sent, to a broker that is *)
(* up, once.                                                                 *)
\* @req CMD-003
CommandsTellWhatIs ==
    [][\A m \in messages' \ messages : m.state = State /\ IsUp(m.to) /\ m \in sent' \ sent]_vars

(* A request is gone when it is obeyed, or lost with its receiver or alone;  *)
(* a command says something later than the broker knew.                      *)
\* @req CMD-002
CommandsAreObeyed ==
    [][\A m \in messages \ messages' : LET now == brokers[m.to] next == brokers'[m.to] IN
        \/ next.status = "down"
        \/ m \notin sent' /\ next = now
        \/ /\ m.kind = "LeaderAndIsr"
           /\ next.obeyed = m.state
           /\ now.obeyed.leader_epoch < m.state.leader_epoch
        \/ m.kind = "UpdateMetadata" /\ next.metadata.leader_epoch >= m.state.leader_epoch]_vars

(* An election names another leader, under the next epoch, and tells nothing *)
(* by itself.                                                                *)
\* @req FAIL-004
DecisionsAreSteps ==
    [][znodes' # znodes => LET next == znodes'[StatePath].data IN
        /\ next.leader \in Brokers \ {State.leader}
        /\ next.leader_epoch = State.leader_epoch + 1
        /\ znodes'[StatePath].version = znodes[StatePath].version + 1
        /\ budget'["elections"] < budget["elections"]
        /\ UNCHANGED <<brokers, sent, messages, client, told>>]_vars

(* What was sent is not due again until it is lost, or its receiver begins   *)
(* anew: then all of it is. A process ends and begins as one that knows      *)
(* nothing.                                                                  *)
\* @req BEP-007
WhatIsDueIsSent ==
    [][/\ \A request \in sent \ sent' : LET b == request.to IN
            \/ budget'["losses"] < budget["losses"] /\ sent' = sent \ {request}
                /\ messages' = messages \ {request}
            \/ ~IsUp(b) /\ brokers'[b] = Stopped("up") /\ sent' = {m \in sent : m.to # b}
       /\ sent' \ sent = messages' \ messages
       /\ \A b \in Brokers : brokers'[b].status # brokers[b].status =>
            IF IsUp(b) THEN budget'["crashes"] < budget["crashes"] /\ sent' = sent
            ELSE brokers'[b] = Stopped("up") /\ \A m \in sent' : m.to # b]_vars

(* What a running broker has obeyed it never takes back.                     *)
\* @req CMD-002
ObeyedStays ==
    [][\A b \in Brokers : IsUp(b) /\ brokers'[b].status = "up" =>
        brokers'[b].obeyed.leader_epoch >= brokers[b].obeyed.leader_epoch]_vars

(* In the end every broker has the published state as its metadata.          *)
\* @req UMD-002
EventuallyMetadataConverges == <>[](\A b \in Brokers : brokers[b].metadata = State)

(* In the end the client's write gets to a leader that can commit it.        *)
\* @req CLI-003
EventuallyRoutedToLeader == <>(client.is_acknowledged)

-----------------------------------------------------------------------------
(* What must be possible *)

IsNew == State.leader_epoch > 0

(* The new leader is known to all, and the write is acknowledged by it.      *)
ElectionIsKnown ==
    IsNew /\ \A b \in Brokers : brokers[b].obeyed = State /\ brokers[b].metadata = State
NewLeaderAcknowledges == client.is_acknowledged /\ client.view = State /\ IsNew

(* The first leader acknowledges after another was published, since no       *)
(* broker has heard of it.                                                   *)
FormerLeaderAcknowledges == client.is_acknowledged /\ client.view.leader_epoch < State.leader_epoch

(* The client comes to a broker that does not lead yet, and to one that no   *)
(* longer does.                                                              *)
ClientIsEarly == ~client.is_view_stale /\ client.view = State /\ IsNew /\ ~IsLeading(State.leader)
ClientIsLate == client.view.leader_epoch < State.leader_epoch /\ ~IsLeading(client.view.leader)
ClientAsksAgain == client.is_view_stale /\ client.view = State /\ IsNew

(* It asks a broker that knows less than itself.                             *)
MetadataIsOlderThanClient ==
    client.is_view_stale /\ \E b \in Brokers :
        IsUp(b) /\ brokers[b].metadata.leader_epoch < client.view.leader_epoch

(* Two brokers lead, of which one was replaced.                              *)
TwoLead == \E b, other \in Brokers : b # other /\ IsLeading(b) /\ IsLeading(other)

(* Metadata arrives that is older than what the broker has.                  *)
LateMetadata == \E m \in messages : m.kind = "UpdateMetadata" /\ ~IsNewMetadata(m.to, m.state)

(* A broker that starts knows nothing, is told everything, and takes part.   *)
StartedBrokerKnowsNothing == \E b \in Brokers : IsUp(b) /\ brokers[b].obeyed = Unknown
StartedBrokerTakesPart ==
    (budget["crashes"] < Limits["crashes"] \/ DownAtFirst # {})
        /\ \A b \in Brokers : brokers[b].obeyed = State /\ brokers[b].metadata = State

(* What is lost is sent again.                                               *)
LostIsSentAgain == budget["losses"] < Limits["losses"] /\ ElectionIsKnown /\ messages = {}
=============================================================================
