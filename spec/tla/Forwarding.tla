----------------------------- MODULE Forwarding -----------------------------
(* Changes of configuration through the controller (KIP-590). A client asks  *)
(* some broker: in the old version of its request any broker will do, which  *)
(* passes it on; in the new one only the controller answers. Brokers go over *)
(* from the old protocol, under which each of them writes, to the new one by *)
(* two rolling bounces: the first brings the code that understands what is   *)
(* passed on, the second raises the protocol.                                *)
(*                                                                           *)
(* One znode stands for configs, ACLs, quotas, tokens and topics, several    *)
(* keys in it: a writer reads all of it and writes it back. A request carries*)
(* no id that a second attempt could be known by, so whether asking again is *)
(* safe depends on the answer. FindCoordinator is a request too: its first   *)
(* use creates the internal topic, through the controller.                   *)
(*                                                                           *)
(* Elections are `ControllerElection`'s: here an epoch is raised and the     *)
(* former controller does not know.                                          *)
EXTENDS Integers, Sequences

CONSTANTS
    Brokers,        \* 1 .. n; the smallest is the first controller
    OldBrokers,     \* those under the old protocol: they write themselves
    OldCode,        \* of them, those with the old code: what is passed on is foreign to them
    Requests,       \* numbers from 1, which are the values that they set
    NewVersions,    \* requests that only the controller answers
    Rivals,         \* requests that set the same key; the others have one each
    Finders,        \* requests for a coordinator
    Forgers,        \* requests of clients that claim another name
    Limits          \* how often each bounded thing may happen

VARIABLES
    config,         \* the znode: value per key, and its version
    controller,     \* the one that ZooKeeper names, if any, and the controller epoch
    nodes,          \* per broker its protocol, the controller it knows, its office, its write
    seen,           \* per broker the version of the znode that it has read as an observer
    messages,       \* requests on their way
    answers,        \* per request what its client knows
    effects,        \* history: writes in their order
    budget          \* what is left of Limits

vars == <<config, controller, nodes, seen, messages, answers, effects, budget>>

ASSUME OldCode \subseteq OldBrokers /\ OldBrokers \subseteq Brokers
ASSUME NewVersions \subseteq Requests /\ Forgers \subseteq Requests
ASSUME Rivals \subseteq Requests \ Finders /\ Finders \subseteq Requests

NoEpoch == 0
NoBroker == 0
FirstController == CHOOSE b \in Brokers : \A other \in Brokers : b <= other

TopicKey == -1
SharedKey == 0
Keys == {TopicKey, SharedKey} \cup Requests
KeyOf(r) == CASE r \in Finders -> TopicKey [] r \in Rivals -> SharedKey [] OTHER -> r

(* Names: a client, and all brokers as one.                                  *)
Broker == "broker"
Claimed(r) == IF r \in Forgers THEN "another_client" ELSE "client"

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

Init ==
    /\ config = [data |-> [key \in Keys |-> 0], version |-> 0]
    /\ controller = [controller_id |-> FirstController, controller_epoch |-> 1]
    /\ nodes = [b \in Brokers |->
                    [is_old |-> b \in OldBrokers, has_code |-> b \notin OldCode,
                     active_controller_id |-> FirstController,
                     controller_epoch |-> IF b = FirstController THEN 1 ELSE NoEpoch,
                     writing |-> <<>>]]
    /\ seen = [b \in Brokers |-> 0]
    /\ messages = {}
    /\ answers = [r \in Requests |-> "none"]
    /\ effects = <<>>
    /\ budget = Limits

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ config.data \in [Keys -> {0} \cup Requests]
    /\ config.version \in Nat
    /\ controller.controller_id \in {NoBroker} \cup Brokers
    /\ \A b \in Brokers :
          /\ nodes[b].is_old \in BOOLEAN /\ nodes[b].has_code \in BOOLEAN
          /\ nodes[b].active_controller_id \in {NoBroker} \cup Brokers
          /\ nodes[b].controller_epoch \in 0 .. controller.controller_epoch
          /\ Len(nodes[b].writing) <= 1
    /\ seen \in [Brokers -> 0 .. config.version]
    /\ \A m \in messages :
          /\ m.request \in Requests /\ m.to \in Brokers
          /\ m.is_new \in BOOLEAN /\ m.forwards \in 0 .. 2
    /\ answers \in [Requests -> {"none", "waiting", "again", "ok", "refused", "unknown"}]
    /\ \A i \in DOMAIN effects : effects[i].request \in Requests
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]

IsActive(b) == nodes[b].controller_epoch # NoEpoch
IsController(b) == controller.controller_epoch = nodes[b].controller_epoch

Answered(r, answer) == [answers EXCEPT ![r] = answer]

-----------------------------------------------------------------------------
(* Clients *)

(* A client asks for the first time, or again when it was told that nothing  *)
(* was changed. An answer that is missing says nothing, and the client tells *)
(* its caller so (FWD-004).                                                  *)
MaySend(r) == answers[r] \in {"none", "again"}

(* A client asks some broker.                                                *)
SendRequest(r) ==
    /\ MaySend(r)
    /\ \E b \in Brokers :
          messages' = messages \cup
            {[request |-> r, to |-> b, is_new |-> r \in NewVersions, from_broker |-> FALSE,
              forwards |-> 0, principal |-> Claimed(r)]}
    /\ answers' = Answered(r, "waiting")
    /\ UNCHANGED <<config, controller, nodes, seen, effects, budget>>

-----------------------------------------------------------------------------
(* Brokers *)

(* What a broker passes on: the old version of a request, once, and the      *)
(* creation that a coordinator needs. The new version is for the controller, *)
(* and so is what was passed on.                                             *)
IsForwardable(m) == ~m.is_new \/ m.request \in Finders
IsForwarded(m) == m.forwards = 0

(* Under the old protocol a broker writes itself.                            *)
Forwards(b) == ~nodes[b].is_old

(* The name under which a broker passes a request on: the client's, and its  *)
(* own where it asks for something itself.                                   *)
PassedOnFor(m) == IF m.request \in Finders THEN Broker ELSE "client"

(* A broker that is not controller passes a request on to the broker that it *)
(* takes for controller, or answers NOT_CONTROLLER: to a client directly or  *)
(* through the broker that passed it on, and it is a reason to ask again.    *)
ForwardRequest(b) ==
    \E m \in messages :
        LET to == nodes[b].active_controller_id
            is_passed_on ==
                IsForwardable(m) /\ IsForwarded(m) /\ m.forwards < 2 /\ to \notin {b, NoBroker}
        IN /\ m.to = b
           /\ ~IsActive(b)
           /\ Forwards(b)
           /\ messages' = (messages \ {m}) \cup
                IF is_passed_on
                THEN {[m EXCEPT !.to = to, !.from_broker = TRUE, !.forwards = @ + 1,
                                !.principal = PassedOnFor(m)]}
                ELSE {}
           /\ answers' = IF is_passed_on THEN answers ELSE Answered(m.request, "again")
           /\ UNCHANGED <<config, controller, nodes, seen, effects, budget>>

(* The principal for which the request is judged: a connection from a client *)
(* tells which it is, and a name in the request counts only on one from a    *)
(* broker. For a coordinator the broker itself asks.                         *)
Principal(m) ==
    IF m.from_broker THEN m.principal ELSE IF m.request \in Finders THEN Broker ELSE "client"

(* The controller may write, and under the old protocol every broker.        *)
MayWrite(b) == IsActive(b) \/ nodes[b].is_old

IsUnderstood(m) == m.from_broker => nodes[m.to].has_code

(* Old code does not know the envelope of what is passed on, and answers that*)
(* it does not support it: the change is never made.                         *)
RejectForward(b) ==
    \E m \in messages :
        /\ m.to = b
        /\ ~IsUnderstood(m)
        /\ messages' = messages \ {m}
        /\ answers' = Answered(m.request, "refused")
        /\ UNCHANGED <<config, controller, nodes, seen, effects, budget>>

(* Whoever may write reads the znode, to write all of it back. Under the old *)
(* protocol there is no fence. A broker writes one change after the other.   *)
ReadConfig(b) ==
    \E m \in messages :
        /\ m.to = b
        /\ nodes[b].writing = <<>>
        /\ MayWrite(b)
        /\ IsUnderstood(m)
        /\ messages' = messages \ {m}
        /\ nodes' = [nodes EXCEPT ![b].writing =
                        <<[request |-> m.request, data |-> config.data,
                           version |-> config.version, principal |-> Principal(m),
                           controller_epoch |-> nodes[b].controller_epoch,
                           is_old |-> nodes[b].is_old]>>]
        /\ UNCHANGED <<config, controller, seen, answers, effects, budget>>

IsFenced(write) == write.controller_epoch # NoEpoch
IsUnchanged(write) == write.version = config.version

(* The write is one multi: the controller epoch, and the version that was    *)
(* read, which alone holds two writers together while old and new brokers    *)
(* are mixed.                                                                *)
IsWritable(write) ==
    /\ IsFenced(write) => write.controller_epoch = controller.controller_epoch
    /\ IsUnchanged(write)

(* A topic that is there is not created again.                               *)
IsPresent(write) == write.request \in Finders /\ write.data[TopicKey] # 0

Write(b, write) ==
    /\ config' = [data |-> [write.data EXCEPT ![KeyOf(write.request)] = write.request],
                  version |-> config.version + 1]
    /\ effects' = Append(effects,
                    [request |-> write.request, principal |-> write.principal,
                     is_allowed |-> write.is_old \/ IsController(b)])

(* The change is made and its client is told. A write that is refused is an  *)
(* answer to ask again, since nothing was changed; a controller with a failed*)
(* fence resigns.                                                            *)
ApplyMutation(b) ==
    /\ nodes[b].writing # <<>>
    /\ LET write == nodes[b].writing[1]
       IN IF IsPresent(write)
          THEN answers' = Answered(write.request, "ok") /\ UNCHANGED <<config, effects>>
          ELSE IF IsWritable(write)
          THEN answers' = Answered(write.request, "ok") /\ Write(b, write)
          ELSE answers' = Answered(write.request, "again") /\ UNCHANGED <<config, effects>>
    /\ nodes' = [nodes EXCEPT ![b].writing = <<>>]
    /\ UNCHANGED <<controller, seen, messages, budget>>

(* What a missing answer means to the client.                                *)
AnswerOnceLost == "unknown"

(* The change is made, and the answer is lost on its way.                    *)
LoseReply ==
    /\ Spend("lost_replies")
    /\ \E b \in Brokers :
          /\ nodes[b].writing # <<>>
          /\ LET write == nodes[b].writing[1]
             IN /\ ~IsPresent(write)
                /\ IsWritable(write)
                /\ Write(b, write)
                /\ answers' = Answered(write.request, AnswerOnceLost)
          /\ nodes' = [nodes EXCEPT ![b].writing = <<>>]
    /\ UNCHANGED <<controller, seen, messages>>

(* A request is lost on its way: its client cannot tell this from an answer  *)
(* that is lost.                                                             *)
LoseMessage ==
    /\ Spend("losses")
    /\ \E m \in messages :
          /\ messages' = messages \ {m}
          /\ answers' = Answered(m.request, "unknown")
    /\ UNCHANGED <<config, controller, nodes, seen, effects>>

IsNotified(b) == seen[b] # config.version

(* The watch of the znode fires at a broker, and it reads what is there      *)
(* (FWD-008).                                                                *)
CatchUp(b) ==
    /\ IsNotified(b)
    /\ seen' = [seen EXCEPT ![b] = config.version]
    /\ UNCHANGED <<config, controller, nodes, messages, answers, effects, budget>>

-----------------------------------------------------------------------------
(* The office, and the upgrade *)

NextControllerEpoch == controller.controller_epoch + 1

(* Another broker becomes controller and raises the epoch. Its predecessor   *)
(* goes on. Where the office is vacant, this is no fault.                    *)
ElectController(b) ==
    LET controller_epoch == NextControllerEpoch
    IN /\ IF controller.controller_id = NoBroker THEN UNCHANGED budget ELSE Spend("elections")
       /\ controller.controller_id # b
       /\ controller' = [controller_id |-> b, controller_epoch |-> controller_epoch]
       /\ nodes' = [nodes EXCEPT ![b].controller_epoch = controller_epoch,
                                 ![b].active_controller_id = b]
       /\ UNCHANGED <<config, seen, messages, answers, effects>>

(* A controller that sees another's name resigns; what it was about to write *)
(* may be in ZooKeeper's queue already, and stays.                           *)
ResignController(b) ==
    /\ IsActive(b)
    /\ ~IsController(b)
    /\ nodes' = [nodes EXCEPT ![b].controller_epoch = NoEpoch]
    /\ UNCHANGED <<config, controller, seen, messages, answers, effects, budget>>

LooksForController(b) == nodes[b].active_controller_id # controller.controller_id

(* A broker sees which one is controller now.                                *)
LearnController(b) ==
    /\ LooksForController(b)
    /\ nodes' = [nodes EXCEPT ![b].active_controller_id = controller.controller_id]
    /\ UNCHANGED <<config, controller, seen, messages, answers, effects, budget>>

(* A broker stops, and starts as this. Its office is vacant, and clients that*)
(* wait for it, or for a request that it has, hear nothing.                  *)
Bounce(b, is_old, has_code) ==
    LET lost == {m.request : m \in {m \in messages : m.to = b}}
                    \cup {nodes[b].writing[i].request : i \in DOMAIN nodes[b].writing}
    IN /\ nodes' = [nodes EXCEPT ![b] = [is_old |-> is_old, has_code |-> has_code,
                                         active_controller_id |-> NoBroker,
                                         controller_epoch |-> NoEpoch, writing |-> <<>>]]
       /\ controller' = IF controller.controller_id = b
                        THEN [controller EXCEPT !.controller_id = NoBroker] ELSE controller
       /\ messages' = {m \in messages : m.to # b}
       /\ answers' = [r \in Requests |-> IF r \in lost THEN "unknown" ELSE answers[r]]
       /\ UNCHANGED <<config, seen, effects>>

HaveCode == \A b \in Brokers : nodes[b].has_code

(* The first bounce of an upgrade brings the code.                           *)
UpgradeCode(b) == ~nodes[b].has_code /\ Bounce(b, TRUE, TRUE) /\ UNCHANGED budget

MayGoBack == \A b \in Brokers : nodes[b].is_old

(* The way back, as long as no broker has the new protocol.                  *)
DowngradeCode(b) ==
    /\ nodes[b].has_code
    /\ MayGoBack
    /\ Spend("downgrades")
    /\ Bounce(b, TRUE, FALSE)

(* The second raises the protocol, and begins when the first has ended.      *)
RaiseInterBrokerProtocol(b) ==
    nodes[b].is_old /\ HaveCode /\ Bounce(b, FALSE, TRUE) /\ UNCHANGED budget

-----------------------------------------------------------------------------
Next ==
    \/ \E r \in Requests : SendRequest(r)
    \/ \E b \in Brokers : ForwardRequest(b)
    \/ \E b \in Brokers : ReadConfig(b)
    \/ \E b \in Brokers : RejectForward(b)
    \/ \E b \in Brokers : ApplyMutation(b)
    \/ LoseReply
    \/ LoseMessage
    \/ \E b \in Brokers : CatchUp(b)
    \/ \E b \in Brokers : ElectController(b)
    \/ \E b \in Brokers : ResignController(b)
    \/ \E b \in Brokers : LearnController(b)
    \/ \E b \in Brokers : UpgradeCode(b)
    \/ \E b \in Brokers : DowngradeCode(b)
    \/ \E b \in Brokers : RaiseInterBrokerProtocol(b)

(* Clients ask again as long as they are told to, those of the new version at*)
(* every broker in turn, and brokers do their work. No bounce need happen.   *)
Fairness ==
    /\ \A r \in Requests : WF_vars(SendRequest(r))
    /\ \A r \in NewVersions :
          SF_vars(SendRequest(r) /\ \E m \in messages' \ messages : IsController(m.to))
    /\ WF_vars(\E b \in Brokers : ElectController(b) /\ UNCHANGED budget)
    /\ \A b \in Brokers :
          /\ WF_vars(ForwardRequest(b))
          /\ WF_vars(ReadConfig(b))
          /\ WF_vars(RejectForward(b))
          /\ WF_vars(ApplyMutation(b))
          /\ WF_vars(CatchUp(b))
          /\ WF_vars(ResignController(b))
          /\ WF_vars(LearnController(b))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* No request is passed on twice, however often the controller changes, and  *)
(* the new version of one never; nor is any before the first broker has the  *)
(* new protocol.                                                             *)
\* @req FWD-002
\* @req FWD-003
OneForward ==
    \A m \in messages :
        m.forwards <= IF \/ m.request \in NewVersions \ Finders
                         \/ \A b \in Brokers : nodes[b].is_old
                      THEN 0 ELSE 1

(* Nothing is passed on to a broker that does not understand it.             *)
\* @req FWD-007
ForwardIsUnderstood == \A m \in messages : IsUnderstood(m)

(* Under the new protocol a write takes effect only if its author is         *)
(* controller at that moment.                                                *)
\* @req FWD-001
\* @req FWD-006
OnlyControllerWrites == \A i \in DOMAIN effects : effects[i].is_allowed

(* Each change was judged for the client that asked for it: not for the      *)
(* broker that passed it on, nor for the name that the client claims. Only   *)
(* the internal topic is a broker's own wish.                                *)
\* @req FWD-005
\* @req FWD-006
\* @req SEC-002
ActsAsClient ==
    \A i \in DOMAIN effects :
        effects[i].principal = IF effects[i].request \in Finders THEN Broker ELSE "client"

(* Every request takes effect at most once.                                  *)
\* @req FWD-004
\* @req FWD-007
AppliedOnce ==
    \A i, j \in DOMAIN effects : effects[i].request = effects[j].request => i = j

(* A change that was made after another one is not undone by a second attempt*)
(* at the first: A sets 1, B sets 2, A is sent again.                        *)
\* @req FWD-004
RetryUndoesNothing ==
    \A i, j, k \in DOMAIN effects :
        i < j /\ j < k /\ effects[i].request = effects[k].request
            => KeyOf(effects[j].request) # KeyOf(effects[i].request)

(* The internal topic is created once, whoever asks for a coordinator.       *)
\* @req FWD-006
CreatedOnce ==
    \A i, j \in DOMAIN effects : effects[i].request \in Finders /\ effects[j].request \in Finders
        => i = j

(* What was once in the znode stays until its key is set anew: no writer puts*)
(* back what it read before another's change.                                *)
\* @req FWD-007
NoLostUpdate ==
    \A i \in DOMAIN effects :
        LET key == KeyOf(effects[i].request)
        IN (\A j \in i + 1 .. Len(effects) : KeyOf(effects[j].request) # key)
            => config.data[key] = effects[i].request

(* A change that was answered as made is made, and one that was refused, or  *)
(* may be asked for again, is not. Without an answer it may be either.       *)
\* @req FWD-004
AnswersAreTrue ==
    \A r \in Requests :
        LET is_made == \E i \in DOMAIN effects : KeyOf(effects[i].request) = KeyOf(r)
            is_mine == \E i \in DOMAIN effects : effects[i].request = r
        IN /\ answers[r] = "ok" => IF r \in Finders THEN is_made ELSE is_mine
           /\ answers[r] \in {"refused", "again"} => ~is_mine

(* A client waits for a request that is in one place: on its way, or at one  *)
(* broker that is about to write.                                            *)
\* @req FWD-004
OnePlace ==
    \A r \in Requests :
        LET sent == {m \in messages : m.request = r}
            written == {b \in Brokers : \E i \in DOMAIN nodes[b].writing :
                            nodes[b].writing[i].request = r}
        IN /\ answers[r] = "waiting" <=> sent \cup written # {}
           /\ sent = {} \/ written = {}
           /\ \A m, other \in sent : m = other
           /\ \A b, other \in written : b = other

(* Every client comes to an end: it is answered, or knows that it is not.    *)
\* @req FWD-004
EventuallyAnswered == \A r \in Requests : <>(answers[r] \in {"ok", "refused", "unknown"})

(* In the end every broker has read the last change.                         *)
\* @req FWD-008
EventuallyPropagated == <>[](\A b \in Brokers : seen[b] = config.version)

-----------------------------------------------------------------------------
(* What must be possible *)

IsPast(what) == budget[what] < Limits[what]
IsWriting(b) == nodes[b].writing # <<>>
WriteOf(b) == nodes[b].writing[1]

(* Every client is told that its change is made, and every broker has read   *)
(* it.                                                                       *)
AllIsMade == \A r \in Requests : answers[r] = "ok"
ChangeIsSeenByAll == config.version > 0 /\ \A b \in Brokers : seen[b] = config.version

(* A request comes to the controller through another broker, or to one that  *)
(* is controller no more.                                                    *)
ForwardedToController == \E m \in messages : m.forwards = 1 /\ IsController(m.to)
ForwardedInVain == \E m \in messages : m.forwards = 1 /\ ~IsActive(m.to)

(* A client is told to ask again.                                            *)
AskedAgain == \E r \in Requests : answers[r] = "again"

(* A client is told nothing, of a change that is made and of one that is     *)
(* not.                                                                      *)
IsMade(r) == \E i \in DOMAIN effects : effects[i].request = r
UnansweredIsMade == \E r \in Requests : answers[r] = "unknown" /\ IsMade(r)
UnansweredIsNotMade == \E r \in Requests : answers[r] = "unknown" /\ ~IsMade(r)

(* A successor writes; what its predecessor was about to write meets the     *)
(* fence.                                                                    *)
SuccessorWrites ==
    \E b \in Brokers : IsWriting(b) /\ WriteOf(b).controller_epoch > 1 /\ IsWritable(WriteOf(b))
PredecessorIsFenced ==
    \E b \in Brokers : IsWriting(b) /\ IsUnchanged(WriteOf(b)) /\ ~IsWritable(WriteOf(b))
PredecessorFollows ==
    /\ controller.controller_id \notin {FirstController, NoBroker} /\ ~IsActive(FirstController)
    /\ nodes[FirstController].active_controller_id = controller.controller_id

(* Two writers have read the same version.                                   *)
WritersOverlap == \E b, other \in Brokers : b # other /\ IsWriting(b) /\ IsWriting(other)
SlowerWriterIsRefused == \E b \in Brokers : IsWriting(b) /\ ~IsUnchanged(WriteOf(b))

(* A coordinator's topic is there when it is asked for a second time.        *)
TopicIsPresent == \E b \in Brokers : IsWriting(b) /\ IsPresent(WriteOf(b))
BrokerAsksForTopic == \E b \in Brokers : IsWriting(b) /\ WriteOf(b).principal = Broker

(* A broker of the old protocol writes without office.                       *)
OldBrokerWrites ==
    \E b \in Brokers : IsWriting(b) /\ ~IsFenced(WriteOf(b)) /\ IsWritable(WriteOf(b))

(* The upgrade leaves the office vacant, and ends with a controller that     *)
(* makes changes.                                                            *)
OfficeIsVacant == controller.controller_id = NoBroker
UpgradeIsOver ==
    OldBrokers # {} /\ (\A b \in Brokers : ~nodes[b].is_old) /\ \E b \in Brokers :
        IsController(b) /\ IsWriting(b) /\ IsWritable(WriteOf(b))
CodeIsMixed == \E b, other \in Brokers : nodes[b].has_code /\ ~nodes[other].has_code
UpgradeLosesRequest == ~IsPast("losses") /\ \E r \in Requests : answers[r] = "unknown" /\ ~IsMade(r)
=============================================================================
