----------------------------- MODULE TraceState -----------------------------
(* What a replay keeps beside the state of `Replication`: where it is in a   *)
(* recorded run, and what ZooKeeper, leaders and followers have been before, *)
(* since the lines of a trace tell what a process heard, which may be late.  *)
(*                                                                           *)
(* The replay is deterministic: every line determines its step. So one place *)
(* in one run is one state (`Place`), and TLC need not compare the logs.     *)
EXTENDS Replication, TraceData

VARIABLES
    run,            \* which element of Recorded
    at,             \* the event that comes next
    past,           \* what the state znode held, by version: [state, zxid, isr_broker_epochs, assigned]
    topics,         \* the zxids at which the topic was created
    offices,        \* elections that took effect: [controller_id, controller_epoch, session_id]
    registrations,  \* registrations that took effect: [broker_id, session_id, zxid]
    live_epochs,    \* per controller the live brokers when it last looked, as <<broker, broker epoch>>
    departures,     \* per controller and broker: at which leader epoch it saw that this had been away
    floors,         \* per broker the version of the state that it read at its last start
    failures,       \* per broker whether its log failed: "none", "now", "before" it started again;
                    \* "leaves" when its controller lets it go, which has the same effects
    views,          \* per controller at each change since then [live, since]: the registrations, as in
                    \* live_epochs, and how many versions of the state there were
    tenures,        \* per broker the leaderships that are over: [leader_epoch, records, high_watermark]
    obeyed,         \* per broker the controller epoch of the command that it obeyed last
    requests,       \* per broker its leader and what it may have asked for
    committed_log,  \* the records that were ever below a leader's high watermark, in order, but
                    \* those that an election has lost
    agreed,         \* per broker how far its log is the committed one
    base            \* so many records, the first of each log, have left the state

Place == <<run, at, base>>

network_vars == <<fetches, committed, acknowledged, budget>>
history_vars ==
    <<past, topics, offices, registrations, live_epochs, departures, floors, failures, views>>
record_vars == <<logs, tenures, obeyed, requests, committed_log, agreed>>
belief_vars == <<znodes, controllers, replicas, messages, breaches>>

Events == Recorded[run].events
Event == Events[at]
Is(action) == Event.action = action

(* The offsets of the state are counted from the first record that it has.   *)
OffsetTold == Event.offset - base
EndTold == Event.log_end_offset - base
HighWatermarkTold == Event.high_watermark - base

(* TLC tries every way in which a disjunction in an action holds; a guard is *)
(* a value, and one way is enough.                                           *)
Holding(guard) == IF guard THEN TRUE ELSE FALSE

(* Of a controller that has not looked since its election. *)
NotSeen == {<<0, 0>>}

NeverLeft == -2
NoneLeft == [b \in Brokers |-> NeverLeft]

PastInit ==
    /\ Init
    /\ run \in DOMAIN Recorded
    /\ at = 1
    /\ past = <<>>
    /\ topics = {}
    /\ offices = {}
    /\ registrations = {}
    /\ live_epochs = [c \in Controllers |-> NotSeen]
    /\ departures = [c \in Controllers |-> NoneLeft]
    /\ floors = [b \in Brokers |-> Metadata!NoVersion]
    /\ failures = [b \in Brokers |-> "none"]
    /\ views = [c \in Controllers |-> <<>>]
    /\ tenures = [b \in Brokers |-> <<>>]
    /\ obeyed = [b \in Brokers |-> 0]
    /\ requests = [b \in Brokers |-> <<>>]
    /\ committed_log = <<>>
    /\ agreed = [b \in Brokers |-> 0]
    /\ base = 0

-----------------------------------------------------------------------------
(* The past of the state znode *)

StateOf(e) ==
    [leader |-> e.leader, leader_epoch |-> e.leader_epoch, isr |-> e.isr,
     controller_epoch |-> e.controller_epoch]

HasVersion(version) == version + 1 \in DOMAIN past
PastState(version) == past[version + 1].state

LatestLeaderEpoch == IF past = <<>> THEN -1 ELSE past[Len(past)].state.leader_epoch

(* The brokers that were away since the decision on which `state` rests, as   *)
(* the controller saw by their epochs: it treats them as gone although they   *)
(* are back (H2). `Replication` has no broker epochs; there this is a         *)
(* controller that looked while they were away.                               *)
WereAway(c, state) == {b \in Brokers : departures[c][b] >= state.leader_epoch - 1}

(* From level 3 on the state says as which incarnation each member joined.   *)
OtherIncarnations(c, version) ==
    {member[1] : member \in {member \in past[version + 1].isr_broker_epochs :
        \E live \in live_epochs[c] : live[1] = member[1] /\ live[2] # member[2]}}

(* A replica that waits for its first command obeys nothing that is older    *)
(* than the state that it read, and leads in no epoch up to that one's: it   *)
(* may have led in it before (START-002). `IsNewer` of the spec lets it, as  *)
(* it lets whatever is safe.                                                 *)
IsBelowFloor(b, command) ==
    LET floor_epoch == PastState(floors[b]).leader_epoch
    IN \/ command.leader = b /\ command.leader_epoch <= floor_epoch
       \/ command.leader_epoch = floor_epoch /\ command.znode_version < floors[b]

(* A controller that was told treats a broker with a failed log as dead,     *)
(* until a new process of it registers (START-006).                          *)
HaveFailed == {b \in Brokers : failures[b] # "none"}

(* The registrations that there are, each with its transaction. *)
BrokerEpochs(known, brokers) ==
    {<<b, Max({r.zxid : r \in {r \in known : r.broker_id = b}})>> : b \in brokers}

(* A controller lists the brokers and then reads each: what it finds were    *)
(* the registered ones at the first of two moments and still, or again, at   *)
(* the second.                                                               *)
IsView(c, live, first) ==
    LET listed == {entry[1] : entry \in views[c][first].live}
    IN \E second \in first .. Len(views[c]) :
          live = {entry \in views[c][second].live : entry[1] \in listed}
FirstView(c, live) == Min({i \in DOMAIN views[c] : IsView(c, live, i)} \cup {Len(views[c]) + 1})

View(live) == [live |-> live, since |-> Len(past)]

(* These registrations were the present ones when ZooKeeper held the version *)
(* already, or later.                                                        *)
IsLaterView(c, i, version) == i = Len(views[c]) \/ views[c][i + 1].since > version

-----------------------------------------------------------------------------
(* Logs of leaders and what followers ask of them *)

IsServing(b) == replicas[b].role \in {"leader", "fenced"}

Tenure(b) ==
    [leader_epoch |-> replicas[b].leader_epoch, records |-> Records(b),
     high_watermark |-> logs[b].high_watermark]

Tenures(b) ==
    IF b \notin Brokers THEN {}
    ELSE {tenures[b][i] : i \in DOMAIN tenures[b]} \cup (IF IsServing(b) THEN {Tenure(b)} ELSE {})

(* A leader's log only grows while it leads, so that what it answered once   *)
(* is in its log at the end of its tenure. Without epochs in fetches any     *)
(* tenure of the broker that the follower follows may have answered.         *)
LedLogs(f) ==
    {tenure \in Tenures(replicas[f].leader) :
        truncation = "leader_epoch" => tenure.leader_epoch = replicas[f].leader_epoch}

(* The tenure of `b` is over, and its log was `records`. *)
EndedTenures(b, records) ==
    IF IsServing(b) THEN [tenures EXCEPT ![b] = Append(@, [Tenure(b) EXCEPT !.records = records])]
    ELSE tenures

(* A follower asks from the end of its log, which grows from `from` to `to`. *)
(* It takes what answers the offset `answered`, with at least that high      *)
(* watermark.                                                                *)
NewRequests(b, leader, leader_epoch) ==
    [requests EXCEPT ![b] = Append(@,
        [leader |-> leader, leader_epoch |-> leader_epoch, from |-> EndOffset(b),
         to |-> EndOffset(b), answered |-> Unknown, high_watermark |-> 0])]

(* In one of the first `last` times that it followed a leader.               *)
HasRequested(f, l, leader_epoch, offset, last) ==
    \E i \in 1 .. last :
        LET asked == requests[f][i]
        IN /\ asked.leader = l
           /\ truncation = "leader_epoch" => asked.leader_epoch = leader_epoch
           /\ offset \in asked.from .. asked.to

(* An answer to another offset is not taken, and one that repeats the first  *)
(* may be overtaken by it.                                                   *)
IsFirstAnswer(f, offset) ==
    offset = EndOffset(f) /\ requests[f][Len(requests[f])].answered # offset

IsAskingNow(f, l, leader_epoch) ==
    /\ replicas[f].role = "follower"
    /\ replicas[f].leader = l
    /\ truncation = "leader_epoch" => replicas[f].leader_epoch = leader_epoch

(* Nothing to cut is no line in the trace, so TruncateLog is then part of    *)
(* the first fetch.                                                          *)
MayFetch(f) ==
    \/ logs[f].is_truncated
    \/ IF truncation = "high_watermark" THEN logs[f].high_watermark >= EndOffset(f)
       ELSE \/ EndOffset(f) = 0
            \/ \E tenure \in LedLogs(f) :
                  LET cut == Cut(Records(f), tenure.records)
                  IN cut.is_settled /\ Len(cut.log) = EndOffset(f)

(* At level 2 one line per question: the last cut leaves logs that agree. At *)
(* levels 0 and 1 a follower that finds its leader's log shorter than its    *)
(* own cuts again, at what the leader said.                                  *)
IsCut(b, offset) ==
    IF truncation = "leader_epoch"
    THEN \E tenure \in LedLogs(b) : Len(Cut(Records(b), tenure.records).log) = offset
    ELSE IF ~MayFetch(b) THEN offset = logs[b].high_watermark
    ELSE \E tenure \in Tenures(replicas[b].leader) : offset \in 0 .. Len(tenure.records)

-----------------------------------------------------------------------------
(* Committed records *)

(* How far a log is the committed one, known that it is up to `from`.        *)
Agreement(log, chosen, from) ==
    LET shorter == Min({Len(log), Len(chosen)})
    IN IF from >= shorter THEN shorter
       ELSE IF SubSeq(log, from + 1, shorter) = SubSeq(chosen, from + 1, shorter) THEN shorter
       ELSE Min({n \in from .. shorter - 1 : log[n + 1] # chosen[n + 1]})

(* The log of `b` becomes `log`, of which the records below `kept` are as    *)
(* before.                                                                   *)
AgreementAfter(b, log, kept) ==
    [agreed EXCEPT ![b] = IF @ > kept THEN kept
                          ELSE IF @ < Min({kept, Len(committed_log)}) THEN @
                          ELSE Agreement(log, committed_log, @)]

(* The first records of leader `l` are committed. *)
Committed(l, end) ==
    IF end <= Len(committed_log) THEN committed_log
    ELSE committed_log \o SubSeq(Records(l), Len(committed_log) + 1, end)

AgreementOnMore(chosen) ==
    [b \in Brokers |-> IF agreed[b] < Len(committed_log) THEN agreed[b]
                       ELSE Agreement(Records(b), chosen, agreed[b])]

-----------------------------------------------------------------------------
(* Records that leave the state *)

(* TLC looks at the whole state in each step, so that a run costs the square *)
(* of its length while the state grows with it. What all logs have in common *)
(* and no later line is about need not stay. A run has pauses, each with the *)
(* smallest offset, leader epoch and transaction of a change of the          *)
(* configuration that are named from there on; what may go the spec itself   *)
(* decides, and at a pause only.                                             *)
Pauses == Recorded[run].pauses
Stride == Recorded[run].stride
IsPause == at % Stride = 0 /\ at \div Stride \in DOMAIN Pauses
Pause == Pauses[at \div Stride]

Holders == {b \in Brokers : Records(b) # <<>>}

(* No broker can follow an earlier leader any more: of its tenure, the epoch *)
(* is all that is asked for.                                                 *)
EpochsFollowed ==
    {replicas[f].leader_epoch : f \in {f \in Brokers : replicas[f].role = "follower"}}
LeastEpoch == Min({Pause.leader_epoch} \cup EpochsFollowed)
LivingTenures ==
    {tenure \in UNION {{tenures[b][i] : i \in DOMAIN tenures[b]} : b \in Brokers} :
        tenure.leader_epoch >= LeastEpoch}

(* One record of each log stays, and each leader's high watermark is behind  *)
(* what goes: a replica that has not come that far still has not.            *)
CommonCount ==
    Min({Pause.offset - base - 1, Len(committed_log)}
        \cup {agreed[b] : b \in Holders}
        \cup {EndOffset(b) - 1 : b \in Holders}
        \cup {logs[b].high_watermark - 1 : b \in {b \in Brokers : IsServing(b)}}
        \cup {Len(tenure.records) - 1 : tenure \in LivingTenures})

(* Without epochs in fetches any tenure may answer, however old.             *)
ForgetCount ==
    IF truncation = "leader_epoch" /\ CommonCount > 0
    THEN IF \A tenure \in LivingTenures :
                SubSeq(tenure.records, 1, CommonCount) = SubSeq(committed_log, 1, CommonCount)
         THEN CommonCount ELSE 0
    ELSE 0

MayForget == IF IsPause THEN ForgetCount > 0 ELSE FALSE

Behind(records, n) == SubSeq(records, n + 1, Len(records))
KnownFrom(offset, n) == IF offset = Unknown THEN Unknown ELSE Max({offset - n, 0})

ForgetLog(log, n) ==
    [log EXCEPT !.records = Behind(@, n), !.high_watermark = @ - n,
                !.epoch_start = Max({@ - n, 0}),
                !.end_offsets = [f \in Brokers |-> KnownFrom(@[f], n)]]

ForgetTenure(tenure, n) ==
    [tenure EXCEPT !.records = IF tenure.leader_epoch < LeastEpoch THEN <<>> ELSE Behind(@, n),
                   !.high_watermark = @ - n]

ForgetRequest(request, n) ==
    [request EXCEPT !.from = @ - n, !.to = @ - n, !.high_watermark = @ - n,
                    !.answered = IF @ < n THEN Unknown ELSE @ - n]

Forget ==
    \E n \in {ForgetCount} :
        /\ base' = base + n
        /\ logs' = [b \in Brokers |-> IF b \in Holders THEN ForgetLog(logs[b], n) ELSE logs[b]]
        /\ tenures' = [b \in Brokers |->
                [i \in DOMAIN tenures[b] |-> ForgetTenure(tenures[b][i], n)]]
        /\ requests' = [b \in Brokers |->
                [i \in DOMAIN requests[b] |-> ForgetRequest(requests[b][i], n)]]
        /\ committed_log' = Behind(committed_log, n)
        /\ agreed' = [b \in Brokers |-> IF b \in Holders THEN agreed[b] - n ELSE agreed[b]]
        /\ UNCHANGED <<run, at, obeyed>>
        /\ UNCHANGED belief_vars
        /\ UNCHANGED history_vars
        /\ UNCHANGED network_vars
=============================================================================
