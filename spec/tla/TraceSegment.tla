---------------------------- MODULE TraceSegment ----------------------------
(* A long run is replayed in segments, one by one: SANY and TLC keep some    *)
(* kilobytes for each event that they are given. A segment begins in the     *)
(* state in which the one before it ended, as TLC told it; `at` counts its   *)
(* own events, and all else goes on.                                         *)
EXTENDS TraceTold

(* Every variable but `run` and `at`. *)
State ==
    [znodes |-> znodes, controllers |-> controllers, replicas |-> replicas, messages |-> messages,
     budget |-> budget, breaches |-> breaches, logs |-> logs, fetches |-> fetches,
     committed |-> committed, acknowledged |-> acknowledged, past |-> past, topics |-> topics,
     offices |-> offices, registrations |-> registrations, live_epochs |-> live_epochs,
     departures |-> departures, floors |-> floors, failures |-> failures, views |-> views,
     tenures |-> tenures, obeyed |-> obeyed, requests |-> requests,
     committed_log |-> committed_log, agreed |-> agreed, base |-> base, forgotten |-> forgotten,
     warned |-> warned, loss_epoch |-> loss_epoch, estranged |-> estranged,
     assignments |-> assignments, standing |-> standing, ever_asked |-> ever_asked,
     ended |-> ended, plans |-> plans, parting |-> parting, acting |-> acting,
     versions_heard |-> versions_heard, followed |-> followed, epochs_sent |-> epochs_sent,
     refused |-> refused, stops |-> stops, has_read |-> has_read, topic_known |-> topic_known,
     bodies |-> bodies, taken |-> taken, configured |-> configured, owed |-> owed]

(* In the place of TraceInit. *)
ResumedInit ==
    LET begins == Recorded[1].begins
    IN /\ run = 1
       /\ at = 1
       /\ znodes = begins.znodes
       /\ controllers = begins.controllers
       /\ replicas = begins.replicas
       /\ messages = begins.messages
       /\ budget = begins.budget
       /\ breaches = begins.breaches
       /\ logs = begins.logs
       /\ fetches = begins.fetches
       /\ committed = begins.committed
       /\ acknowledged = begins.acknowledged
       /\ past = begins.past
       /\ topics = begins.topics
       /\ offices = begins.offices
       /\ registrations = begins.registrations
       /\ live_epochs = begins.live_epochs
       /\ departures = begins.departures
       /\ floors = begins.floors
       /\ failures = begins.failures
       /\ views = begins.views
       /\ tenures = begins.tenures
       /\ obeyed = begins.obeyed
       /\ requests = begins.requests
       /\ committed_log = begins.committed_log
       /\ agreed = begins.agreed
       /\ base = begins.base
       /\ forgotten = begins.forgotten
       /\ warned = begins.warned
       /\ loss_epoch = begins.loss_epoch
       /\ estranged = begins.estranged
       /\ assignments = begins.assignments
       /\ standing = begins.standing
       /\ ever_asked = begins.ever_asked
       /\ ended = begins.ended
       /\ plans = begins.plans
       /\ parting = begins.parting
       /\ acting = begins.acting
       /\ versions_heard = begins.versions_heard
       /\ followed = begins.followed
       /\ epochs_sent = begins.epochs_sent
       /\ refused = begins.refused
       /\ stops = begins.stops
       /\ has_read = begins.has_read
       /\ topic_known = begins.topic_known
       /\ bodies = begins.bodies
       /\ taken = begins.taken
       /\ configured = begins.configured
       /\ owed = begins.owed

(* What the replay says of a state behind the last event. *)
ToldAtEnd(violated) ==
    IF Recorded[run].is_last THEN <<"accepted", run, violated, base>>
    ELSE <<"reached", run, ToString(State)>>
=============================================================================
