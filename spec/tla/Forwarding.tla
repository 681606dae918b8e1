----------------------------- MODULE Forwarding -----------------------------
(* Changes of configuration through the controller (KIP-590): clients ask    *)
(* any broker, a broker that is not controller passes the request on, and    *)
(* the controller changes the config znode. One znode stands for configs,    *)
(* ACLs, quotas and tokens: its data is the set of requests that it holds.   *)
(*                                                                           *)
(* Elections are `ControllerElection`'s: here an epoch is raised and the     *)
(* former controller does not know. An answer travels the way that the       *)
(* request came; one that is lost on either leg is one that is lost.         *)
EXTENDS Integers

CONSTANTS
    Brokers,        \* 1 .. n; the smallest is the first controller
    OldBrokers,     \* new code, old inter-broker protocol: they write themselves
    Requests,       \* each is sent by one client, until it is answered
    Forgers,        \* requests of clients that claim another name
    Limits          \* how often each bounded thing may happen

VARIABLES
    config,         \* the znode: requests that it holds, and its version
    controller,     \* the one that ZooKeeper names, and the controller epoch
    nodes,          \* per broker the controller it knows, its office, its pending write
    messages,       \* requests on their way
    answers,        \* per request what its client knows
    effects,        \* history: writes, each with its authorised name
    budget,         \* what is left of Limits
    breaches        \* history: acts that no rule allows

vars == <<config, controller, nodes, messages, answers, effects, budget, breaches>>

ASSUME OldBrokers \subseteq Brokers /\ Forgers \subseteq Requests

NoEpoch == 0
FirstController == CHOOSE b \in Brokers : \A other \in Brokers : b <= other

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

Breach(invariant, actor, is_breached) ==
    breaches' = breaches
        \cup (IF is_breached THEN {[invariant |-> invariant, actor |-> actor]} ELSE {})

Init ==
    /\ config = [requests |-> {}, version |-> 0]
    /\ controller = [controller_id |-> FirstController, controller_epoch |-> 1]
    /\ nodes = [b \in Brokers |->
                    [active_controller_id |-> FirstController,
                     controller_epoch |-> IF b = FirstController THEN 1 ELSE NoEpoch,
                     writing |-> {}]]
    /\ messages = {}
    /\ answers = [r \in Requests |-> "none"]
    /\ effects = {}
    /\ budget = Limits
    /\ breaches = {}

IsActive(b) == nodes[b].controller_epoch # NoEpoch
IsController(b) ==
    /\ controller.controller_id = b
    /\ controller.controller_epoch = nodes[b].controller_epoch

(* Names: a client, or all brokers as one.                                   *)
Broker == "broker"
Claimed(r) == IF r \in Forgers THEN "somebody_else" ELSE "client"

-----------------------------------------------------------------------------
(* Clients *)

IsUnderWay(r) ==
    \/ \E m \in messages : m.request = r
    \/ \E b \in Brokers : \E write \in nodes[b].writing : write.request = r

(* A client asks some broker, and asks again when nothing comes back. That   *)
(* the former attempt is dead by then is its time-out.                       *)
SendRequest(r) ==
    /\ answers[r] = "none"
    /\ ~IsUnderWay(r)
    /\ \E b \in Brokers :
          messages' = messages \cup
            {[request |-> r, to |-> b, from_broker |-> FALSE, forwards |-> 0,
              principal |-> Claimed(r)]}
    /\ UNCHANGED <<config, controller, nodes, answers, effects, budget, breaches>>

-----------------------------------------------------------------------------
(* Brokers *)

(* The brokers that pass requests on, and the requests: what was passed on is*)
(* not passed on again.                                                      *)
Forwards(b) == b \notin OldBrokers
IsForwarded(m) == m.forwards = 0

(* A broker that is not controller passes a client's request on, in the new  *)
(* version and with the client's name, to the broker that it takes for       *)
(* controller. Otherwise it answers NOT_CONTROLLER, which the client hears as*)
(* a reason to ask again.                                                    *)
ForwardRequest(b) ==
    \E m \in messages :
        LET passed_on == [m EXCEPT !.to = nodes[b].active_controller_id, !.from_broker = TRUE,
                                   !.forwards = @ + 1, !.principal = "client"]
        IN /\ m.to = b
           /\ ~IsActive(b)
           /\ Forwards(b)
           /\ m.forwards < 2
           /\ messages' = (messages \ {m}) \cup
                (IF IsForwarded(m) /\ nodes[b].active_controller_id # b THEN {passed_on} ELSE {})
           /\ UNCHANGED <<config, controller, nodes, answers, effects, budget, breaches>>

(* The principal for which the request is judged: a connection from a client *)
(* tells which it is, and a name in the request counts only on one from a    *)
(* broker.                                                                   *)
Principal(m) == IF m.from_broker THEN m.principal ELSE "client"

(* The controller may write, and under the old protocol every broker.        *)
MayWrite(b) == IsActive(b) \/ b \in OldBrokers

(* Whoever may write reads the znode, to write all of it back. An old broker *)
(* has no fence. A broker writes one change after the other.                 *)
ReadConfig(b) ==
    \E m \in messages :
        /\ m.to = b
        /\ nodes[b].writing = {}
        /\ MayWrite(b)
        /\ messages' = messages \ {m}
        /\ nodes' = [nodes EXCEPT ![b].writing = @ \cup
                        {[request |-> m.request, requests |-> config.requests,
                          version |-> config.version, principal |-> Principal(m),
                          controller_epoch |-> IF IsActive(b) THEN nodes[b].controller_epoch
                                               ELSE NoEpoch]}]
        /\ UNCHANGED <<config, controller, answers, effects, budget, breaches>>

IsFenced(write) == write.controller_epoch # NoEpoch
IsUnchanged(write) == write.version = config.version

(* The write is one multi: the controller epoch, and the version that was    *)
(* read, which alone holds two writers together while old and new brokers    *)
(* are mixed.                                                                *)
IsWritable(write) ==
    /\ IsFenced(write) => write.controller_epoch = controller.controller_epoch
    /\ IsUnchanged(write)

(* A controller that finds the request in the znode already writes nothing.  *)
IsPresent(write) == write.request \in write.requests

Done(b, write) == [nodes EXCEPT ![b].writing = @ \ {write}]

Written(write) ==
    [requests |-> write.requests \cup {write.request}, version |-> config.version + 1]

Effects(b, write) ==
    effects \cup {[request |-> write.request, principal |-> write.principal,
                   version |-> config.version + 1]}

BreachOfOffice(b) ==
    Breach("OnlyControllerWrites", b, b \notin OldBrokers /\ ~IsController(b))

(* The change is made and its client is told; a change that is there already *)
(* counts as made (FWD-004). A write that is refused is an answer to ask     *)
(* again, and a controller with a failed fence resigns.                      *)
ApplyMutation(b) ==
    \E write \in nodes[b].writing :
        /\ IF IsPresent(write)
           THEN /\ answers' = [answers EXCEPT ![write.request] = "ok"]
                /\ nodes' = Done(b, write)
                /\ UNCHANGED <<config, effects, breaches>>
           ELSE IF IsWritable(write)
           THEN /\ config' = Written(write)
                /\ effects' = Effects(b, write)
                /\ answers' = [answers EXCEPT ![write.request] = "ok"]
                /\ nodes' = Done(b, write)
                /\ BreachOfOffice(b)
           ELSE /\ nodes' = Done(b, write)
                /\ UNCHANGED <<config, effects, answers, breaches>>
        /\ UNCHANGED <<controller, messages, budget>>

(* An answer that is missing is no refusal (FWD-004): the client knows no    *)
(* more than before and asks again.                                          *)
OnceReplyLost(r) == answers

(* The change is made, and the answer is lost on its way.                    *)
LoseReply ==
    /\ Spend("lost_replies")
    /\ \E b \in Brokers : \E write \in nodes[b].writing :
          /\ ~IsPresent(write)
          /\ IsWritable(write)
          /\ config' = Written(write)
          /\ effects' = Effects(b, write)
          /\ nodes' = Done(b, write)
          /\ answers' = OnceReplyLost(write.request)
          /\ BreachOfOffice(b)
    /\ UNCHANGED <<controller, messages>>

(* A request is lost on its way.                                             *)
LoseMessage ==
    /\ Spend("losses")
    /\ \E m \in messages : messages' = messages \ {m}
    /\ UNCHANGED <<config, controller, nodes, answers, effects, breaches>>

-----------------------------------------------------------------------------
(* The office *)

(* Another broker becomes controller and raises the epoch. Its predecessor   *)
(* goes on.                                                                  *)
ElectController(b) ==
    LET controller_epoch == controller.controller_epoch + 1
    IN /\ Spend("elections")
       /\ controller.controller_id # b
       /\ controller' = [controller_id |-> b, controller_epoch |-> controller_epoch]
       /\ nodes' = [nodes EXCEPT ![b].controller_epoch = controller_epoch,
                                 ![b].active_controller_id = b]
       /\ UNCHANGED <<config, messages, answers, effects, breaches>>

(* A controller that sees another's name resigns; what it was about to write *)
(* may be in ZooKeeper's queue already, and stays.                           *)
ResignController(b) ==
    /\ IsActive(b)
    /\ ~IsController(b)
    /\ nodes' = [nodes EXCEPT ![b].controller_epoch = NoEpoch]
    /\ UNCHANGED <<config, controller, messages, answers, effects, budget, breaches>>

LooksForController(b) == nodes[b].active_controller_id # controller.controller_id

(* A broker sees which one is controller now.                                *)
LearnController(b) ==
    /\ LooksForController(b)
    /\ nodes' = [nodes EXCEPT ![b].active_controller_id = controller.controller_id]
    /\ UNCHANGED <<config, controller, messages, answers, effects, budget, breaches>>

-----------------------------------------------------------------------------
Next ==
    \/ \E r \in Requests : SendRequest(r)
    \/ \E b \in Brokers : ForwardRequest(b)
    \/ \E b \in Brokers : ReadConfig(b)
    \/ \E b \in Brokers : ApplyMutation(b)
    \/ \E b \in Brokers : ElectController(b)
    \/ \E b \in Brokers : ResignController(b)
    \/ \E b \in Brokers : LearnController(b)
    \/ LoseReply
    \/ LoseMessage

(* Clients do not give up, and brokers do their work.                        *)
Fairness ==
    /\ \A r \in Requests : WF_vars(SendRequest(r))
    /\ \A b \in Brokers :
          /\ WF_vars(ForwardRequest(b))
          /\ WF_vars(ReadConfig(b))
          /\ WF_vars(ApplyMutation(b))
          /\ WF_vars(ResignController(b))
          /\ WF_vars(LearnController(b))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* No request is passed on twice, however often the controller changes.      *)
\* @req FWD-003
OneForward == \A m \in messages : m.forwards <= 1

(* Under the new protocol a write takes effect only if its author is         *)
(* controller at that moment.                                                *)
\* @req FWD-001
OnlyControllerWrites == \A breach \in breaches : breach.invariant # "OnlyControllerWrites"

(* Each change was judged for the client that asked for it: not for the      *)
(* broker that passed it on, nor for the name that the client claims.        *)
\* @req FWD-005
\* @req SEC-002
ActsAsClient == \A effect \in effects : effect.principal = "client"

(* A request that is sent again after a lost answer changes nothing twice.   *)
\* @req FWD-004
\* @req FWD-007
RetryIsIdempotent ==
    \A effect, other \in effects : effect.request = other.request => effect = other

(* What was once in the znode stays: no writer puts back what it read before *)
(* another's change.                                                         *)
\* @req FWD-007
NoLostUpdate == \A effect \in effects : effect.request \in config.requests

(* A change that was answered as refused is not made; one that was answered  *)
(* as made is made.                                                          *)
\* @req FWD-004
AnswersAreTrue ==
    \A r \in Requests :
        LET is_made == \E effect \in effects : effect.request = r
        IN /\ answers[r] = "ok" => is_made
           /\ answers[r] = "refused" => ~is_made

(* Every client gets its answer.                                             *)
\* @req FWD-004
EventuallyAnswered == \A r \in Requests : <>(answers[r] # "none")
=============================================================================
