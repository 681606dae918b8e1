--------------------------- MODULE MetadataBodies ---------------------------
(* Which metadata a broker takes. A controller numbers its bodies, each of   *)
(* which tells all that it knows, under its controller epoch; and as it made *)
(* a body from one reading of the brokers, that names the largest broker     *)
(* epoch of it (UMD-001, BEP-003). Requests outlive controllers and bounces  *)
(* of brokers.                                                               *)
(*                                                                           *)
(* What a body tells is how many changes its controller knew of; what they   *)
(* are, and what clients make of them, is `MetadataPropagation`'s. Left out: *)
(* bodies that tell only what changed, which a broker refuses that lacks the *)
(* one before.                                                               *)
EXTENDS Integers

CONSTANTS
    Brokers,        \* 1 .. n, which are their first epochs as well
    Limits          \* how often each bounded thing may happen

VARIABLES
    office,         \* /controller_epoch
    changes,        \* how many changes are published
    registrations,  \* per broker its epoch, if it is registered
    zxid,           \* the newest of these
    controllers,    \* per controller epoch what its controller knows, deposed or not
    nodes,          \* per broker what it knows
    messages,       \* bodies in flight
    budget,         \* what is left of Limits
    heard,          \* history: per broker the largest controller epoch that it met since it started
    breaches        \* history: acts that no rule allows

vars == <<office, changes, registrations, zxid, controllers, nodes, messages, budget, heard,
          breaches>>

NoEpoch == 0
Unregistered == 0
Epochs == 1 .. 1 + Limits["failovers"]

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

Breached(invariant, actor, is_breached) ==
    IF is_breached THEN {[invariant |-> invariant, actor |-> actor]} ELSE {}

Max(n, other) == IF n > other THEN n ELSE other

NothingTaken == [controller_epoch |-> NoEpoch, metadata_version |-> 0, changes |-> -1]

Stopped == [is_up |-> FALSE, broker_epoch |-> Unregistered, controller_epoch |-> NoEpoch,
            taken |-> NothingTaken]
Started(broker_epoch) == [Stopped EXCEPT !.is_up = TRUE, !.broker_epoch = broker_epoch]

Elected(view, known) == [view |-> view, changes |-> known, metadata_version |-> 1, sent |-> {}]

Init ==
    /\ office = 1
    /\ changes = 0
    /\ registrations = [b \in Brokers |-> b]
    /\ zxid = CHOOSE b \in Brokers : \A other \in Brokers : b >= other
    /\ controllers = [c \in Epochs |-> Elected(registrations, 0)]
    /\ nodes = [b \in Brokers |-> Started(b)]
    /\ messages = {}
    /\ budget = Limits
    /\ heard = [b \in Brokers |-> NoEpoch]
    /\ breaches = {}

BrokerEpochs == 0 .. zxid

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ office \in Epochs
    /\ changes \in 0 .. Limits["changes"]
    /\ registrations \in [Brokers -> BrokerEpochs]
    /\ \A c \in Epochs :
          /\ controllers[c].view \in [Brokers -> BrokerEpochs]
          /\ controllers[c].changes \in 0 .. changes
          /\ controllers[c].metadata_version \in Nat \ {0}
          /\ controllers[c].sent \subseteq Brokers
    /\ \A b \in Brokers :
          /\ nodes[b].is_up \in BOOLEAN
          /\ nodes[b].broker_epoch \in BrokerEpochs
          /\ nodes[b].controller_epoch \in 0 .. office
          /\ nodes[b].taken.changes \in -1 .. changes
    /\ \A m \in messages :
          /\ m.to \in Brokers
          /\ m.controller_epoch \in 1 .. office
          /\ m.max_broker_epoch \in BrokerEpochs \ {Unregistered}
    /\ heard \in [Brokers -> 0 .. office]
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]

-----------------------------------------------------------------------------
(* Controllers *)

(* Another broker becomes controller, and reads what there is. Its           *)
(* predecessor goes on with what it knows.                                   *)
ElectController ==
    /\ Spend("failovers")
    /\ office' = office + 1
    /\ controllers' = [controllers EXCEPT ![office + 1] = Elected(registrations, changes)]
    /\ UNCHANGED <<changes, registrations, zxid, nodes, messages, heard, breaches>>

(* What a controller tells from now on is another body.                      *)
Renewed(controller) ==
    [controller EXCEPT !.metadata_version = @ + 1, !.sent = {}]

(* The controller in office publishes a change: a deposed one cannot (ZK-005)*)
ElectLeader ==
    /\ Spend("changes")
    /\ changes' = changes + 1
    /\ controllers' = [controllers EXCEPT ![office] = [Renewed(@) EXCEPT !.changes = changes + 1]]
    /\ UNCHANGED <<office, registrations, zxid, nodes, messages, heard, breaches>>

(* All registrations are read in one step, by whoever takes itself for       *)
(* controller; `RegistrationReading` reads them one by one (BEP-004).        *)
DetectBrokerChange(c) ==
    /\ c <= office
    /\ controllers[c].view # registrations
    /\ controllers' = [controllers EXCEPT ![c] = [Renewed(@) EXCEPT !.view = registrations]]
    /\ UNCHANGED <<office, changes, registrations, zxid, nodes, messages, budget, heard, breaches>>

(* The largest epoch of the reading that a body is made of (BEP-003).        *)
MaxBrokerEpoch(view) ==
    view[CHOOSE b \in Brokers : \A other \in Brokers : view[b] >= view[other]]

(* `built_for` is history: no broker reads it.                               *)
SendUpdateMetadata(c, b) ==
    LET known == controllers[c]
    IN /\ c <= office
       /\ b \notin known.sent
       /\ known.view[b] # Unregistered
       /\ controllers' = [controllers EXCEPT ![c].sent = @ \cup {b}]
       /\ messages' = messages \cup
            {[to |-> b, controller_epoch |-> c, metadata_version |-> known.metadata_version,
              max_broker_epoch |-> MaxBrokerEpoch(known.view), changes |-> known.changes,
              built_for |-> known.view[b]]}
       /\ UNCHANGED <<office, changes, registrations, zxid, nodes, budget, heard, breaches>>

(* A body is lost, and its controller learns that it was not answered.       *)
LoseMessage ==
    /\ Spend("losses")
    /\ \E m \in messages :
          /\ messages' = messages \ {m}
          /\ controllers' = [controllers EXCEPT
                ![m.controller_epoch].sent =
                    IF m.metadata_version = controllers[m.controller_epoch].metadata_version
                    THEN @ \ {m.to} ELSE @]
    /\ UNCHANGED <<office, changes, registrations, zxid, nodes, heard, breaches>>

-----------------------------------------------------------------------------
(* Brokers *)

(* A broker knows of a later controller (CTL-006).                           *)
IsOfDeposed(b, m) == m.controller_epoch < nodes[b].controller_epoch

(* No reading with the present incarnation has so small an epoch (BEP-003).  *)
IsForEarlierStart(b, m) == m.max_broker_epoch < nodes[b].broker_epoch

(* Bodies of one controller are numbered, and those of the next are later.   *)
IsNewer(m, taken) ==
    \/ m.controller_epoch > taken.controller_epoch
    \/ /\ m.controller_epoch = taken.controller_epoch
       /\ m.metadata_version > taken.metadata_version

Body(m) == [controller_epoch |-> m.controller_epoch, metadata_version |-> m.metadata_version,
            changes |-> m.changes]

(* What history holds against a body that is taken: it met a successor, or   *)
(* was made for another start.                                               *)
TakenInVain(b, m) ==
    Breached("StaleControllerHarmless", b, m.controller_epoch < heard[b])
        \cup Breached("StaleIncarnationHarmless", b, m.built_for # registrations[b])

(* Metadata are refused as a command would be; a body that is not newer      *)
(* changes nothing but that its controller is known.                         *)
UpdateMetadata(b) ==
    \E m \in messages :
        LET is_refused == IsOfDeposed(b, m) \/ IsForEarlierStart(b, m)
        IN /\ m.to = b
           /\ nodes[b].is_up
           /\ messages' = messages \ {m}
           /\ nodes' = IF is_refused THEN nodes
                       ELSE [nodes EXCEPT
                                ![b].controller_epoch = m.controller_epoch,
                                ![b].taken = IF IsNewer(m, @) THEN Body(m) ELSE @]
           /\ heard' = IF is_refused THEN heard
                       ELSE [heard EXCEPT ![b] = Max(@, m.controller_epoch)]
           /\ breaches' = IF is_refused THEN breaches ELSE breaches \cup TakenInVain(b, m)
           /\ UNCHANGED <<office, changes, registrations, zxid, controllers, budget>>

(* A broker reads /controller_epoch; commands of the controller tell it too. *)
LearnController(b) ==
    /\ nodes[b].is_up
    /\ nodes[b].controller_epoch < office
    /\ nodes' = [nodes EXCEPT ![b].controller_epoch = office]
    /\ heard' = [heard EXCEPT ![b] = office]
    /\ UNCHANGED <<office, changes, registrations, zxid, controllers, messages, budget, breaches>>

(* A broker stops, and its session ends. What is on its way to it stays so.  *)
CrashBroker(b) ==
    /\ Spend("crashes")
    /\ nodes[b].is_up
    /\ nodes' = [nodes EXCEPT ![b] = Stopped]
    /\ registrations' = [registrations EXCEPT ![b] = Unregistered]
    /\ heard' = [heard EXCEPT ![b] = NoEpoch]
    /\ UNCHANGED <<office, changes, zxid, controllers, messages, breaches>>

(* It is up again under a new epoch, and knows nothing.                      *)
RestartBroker(b) ==
    /\ ~nodes[b].is_up
    /\ zxid' = zxid + 1
    /\ registrations' = [registrations EXCEPT ![b] = zxid + 1]
    /\ nodes' = [nodes EXCEPT ![b] = Started(zxid + 1)]
    /\ UNCHANGED <<office, changes, controllers, messages, budget, heard, breaches>>

-----------------------------------------------------------------------------
Next ==
    \/ ElectController
    \/ ElectLeader
    \/ \E c \in Epochs : DetectBrokerChange(c)
    \/ \E c \in Epochs, b \in Brokers : SendUpdateMetadata(c, b)
    \/ LoseMessage
    \/ \E b \in Brokers : UpdateMetadata(b)
    \/ \E b \in Brokers : LearnController(b)
    \/ \E b \in Brokers : CrashBroker(b)
    \/ \E b \in Brokers : RestartBroker(b)

(* What goes on without a fault ends by itself. A deposed controller may     *)
(* send or not.                                                              *)
Heal ==
    \/ DetectBrokerChange(office)
    \/ \E b \in Brokers :
        SendUpdateMetadata(office, b) \/ UpdateMetadata(b) \/ LearnController(b) \/ RestartBroker(b)

Spec == Init /\ [][Next]_vars /\ WF_vars(Heal)

-----------------------------------------------------------------------------
IsCleanOf(invariant) == \A breach \in breaches : breach.invariant # invariant

(* No broker takes metadata of a controller when it has met a later one      *)
(* since it started.                                                         *)
\* @req CTL-006
StaleControllerHarmless == IsCleanOf("StaleControllerHarmless")

(* No broker takes metadata that were made for it before it started.         *)
\* @req BEP-003
StaleIncarnationHarmless == IsCleanOf("StaleIncarnationHarmless")

(* While a broker is up it never forgets a change that it was told.          *)
\* @req UMD-002
MetadataNeverGoesBack ==
    [][\A b \in Brokers :
        nodes[b].is_up /\ nodes'[b].is_up => nodes'[b].taken.changes >= nodes[b].taken.changes]_vars

(* A body tells what its controller has read, to a broker that was there,    *)
(* and which incarnations that were.                                         *)
\* @req BEP-003
\* @req BEP-004
BodiesTellWhatWasRead ==
    [][\A m \in messages' \ messages : LET known == controllers[m.controller_epoch] IN
        /\ m.metadata_version = known.metadata_version
        /\ m.changes = known.changes
        /\ m.built_for = known.view[m.to] /\ m.built_for # Unregistered
        /\ \A b \in Brokers : m.max_broker_epoch >= known.view[b]
        /\ \E b \in Brokers : m.max_broker_epoch = known.view[b]]_vars

(* One number of one controller stands for one body, whichever broker it is  *)
(* for.                                                                      *)
\* @req UMD-001
OneBodyPerNumber ==
    \A m, other \in messages :
        /\ m.controller_epoch = other.controller_epoch
        /\ m.metadata_version = other.metadata_version
        => m.changes = other.changes /\ m.max_broker_epoch = other.max_broker_epoch

(* What a process knows ends with it.                                        *)
\* @req BEP-007
MemoryEnds ==
    \A b \in Brokers : IF nodes[b].is_up THEN nodes[b].broker_epoch = registrations[b]
                       ELSE nodes[b] = Stopped /\ registrations[b] = Unregistered

(* What a bound allows has an effect beside what is left of it.              *)
BoundedStepsHaveEffect ==
    [][budget' # budget =>
        <<office, changes, nodes, messages>>' # <<office, changes, nodes, messages>>]_vars

(* In the end every broker has what the controller in office told last, and  *)
(* that is what is published.                                                *)
\* @req UMD-002
EventuallyMetadataConverges ==
    <>[](\A b \in Brokers :
            /\ nodes[b].taken.controller_epoch = office
            /\ nodes[b].taken.metadata_version = controllers[office].metadata_version
            /\ nodes[b].taken.changes = changes)

-----------------------------------------------------------------------------
(* What must be possible *)

(* A body arrives that another one has overtaken, of the same controller.    *)
LateBody ==
    \E m \in messages :
        /\ m.controller_epoch = nodes[m.to].taken.controller_epoch
        /\ m.metadata_version < nodes[m.to].taken.metadata_version

(* One of a deposed controller arrives after its successor's, and before.    *)
DeposedIsLate ==
    \E m \in messages : m.controller_epoch < nodes[m.to].taken.controller_epoch
DeposedIsKnown ==
    \E m \in messages :
        /\ m.controller_epoch < nodes[m.to].controller_epoch
        /\ nodes[m.to].taken.controller_epoch # nodes[m.to].controller_epoch

(* One arrives at a broker that has started anew since.                      *)
EarlierStart == \E m \in messages : nodes[m.to].is_up /\ m.built_for # registrations[m.to]

(* The successor's first body has a smaller number than its predecessor's.   *)
NumbersBeginAnew ==
    \E b \in Brokers : \E m \in messages :
        /\ m.to = b
        /\ m.controller_epoch > nodes[b].taken.controller_epoch
        /\ m.metadata_version < nodes[b].taken.metadata_version

(* All is told by the successor, of the change as well.                      *)
SuccessorTells ==
    office > 1 /\ changes > 0
        /\ \A b \in Brokers :
            nodes[b].taken.controller_epoch = office /\ nodes[b].taken.changes = changes
=============================================================================
