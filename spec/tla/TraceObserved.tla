---------------------------- MODULE TraceObserved ----------------------------
(* What can be seen of one partition from outside is explained by a behaviour *)
(* of the protocol: writes of its state, roles that brokers take, and what   *)
(* clients are answered. When records move between replicas is not seen; that*)
(* is left to any schedule: `Replication` is a commit log (`CommitLog`), so  *)
(* answers are explained if there is one log of committed records that only  *)
(* grows and that each of them is about, given the leaders of the time.      *)
(*                                                                           *)
(* Elections and roles are on the variables of `LeaderAndIsr`. The committed *)
(* log of the run is known beforehand: `spec/replay` has read it off all     *)
(* answers and disks, what was told first of an offset counts, and what was  *)
(* never told is Unknown. A step tells how much of it is committed by then.  *)
EXTENDS LeaderAndIsr, ReplicaLog, TraceData

VARIABLES
    run,            \* which element of Recorded
    at,             \* the event that comes next
    past,           \* version -> what the state was then
    led,            \* broker -> the leader epochs in which it was named leader
    committed,      \* how many records are committed at least
    latest_epoch,   \* the largest leader epoch of those that is known
    sent,           \* values are numbered as they are first sent: how many were
    begun,          \* client operations under way: what was so when each began
    watermarks      \* leader epoch -> the largest high watermark that was answered in it

(* The replay is deterministic: one place in one run is one state.           *)
Place == <<run, at>>

election_vars == <<past, led>>
client_vars == <<committed, latest_epoch, sent, begun, watermarks>>

Events == Recorded[run].events
Event == Events[at]
Is(action) == Event.action = action

(* TLC tries every way in which a disjunction in an action holds, and unrolls*)
(* what is said of all; a guard is a value, and one way is enough.           *)
Holding(guard) == IF guard THEN TRUE ELSE FALSE

Unknown == -9

(* What the committed log holds: [value, leader_epoch], each may be Unknown. *)
Records == Recorded[run].records
(* Value -> its offset there, or Unknown.                                    *)
Places == Recorded[run].places

(* ZooKeeper's log tells of each state; else only roles do, later or never,  *)
(* and which broker led when is taken from all of the run.                   *)
HasStates == Recorded[run].has_states

TraceInit ==
    /\ Init
    /\ run \in DOMAIN Recorded
    /\ at = 1
    /\ past = <<>>
    /\ led = [b \in Brokers |->
                {Recorded[run].leaders[i][2] :
                    i \in {j \in DOMAIN Recorded[run].leaders : Recorded[run].leaders[j][1] = b}}]
    /\ committed = 0
    /\ latest_epoch = -1
    /\ sent = 0
    /\ begun = {}
    /\ watermarks = <<>>

Put(function, key, value) == (key :> value) @@ function

NewestEpoch == Max({-1} \cup UNION {led[b] : b \in Brokers})

-----------------------------------------------------------------------------
(* The state in ZooKeeper *)

StateOf(e) ==
    [leader |-> e.leader, leader_epoch |-> e.leader_epoch, isr |-> e.isr,
     controller_epoch |-> e.controller_epoch]

IsAssigned(brokers) == brokers \subseteq Recorded[run].assigned

(* The last controller that came into office. Whether it is in office still  *)
(* is for ZooKeeper to compare with its write.                               *)
IsController(c) == c \in Controllers /\ controllers[c].status = "active"

ZkElect ==
    LET c == Event.broker_id
        written == Apply(<<CreateOp(ControllerPath, <<>>, c)>>)
    IN /\ Is("ZkElect")
       /\ written.ok
       /\ znodes' = written.tree
       /\ controllers' = [d \in Controllers |->
                            IF d = c THEN [IdleController EXCEPT !.status = "active"]
                            ELSE IdleController]
       /\ UNCHANGED <<replicas, messages, breaches>>

ZkDismiss ==
    /\ Is("ZkDismiss")
    /\ Exists(znodes, ControllerPath)
    /\ znodes' = [znodes EXCEPT ![ControllerPath] = Absent]
    /\ UNCHANGED <<controllers, replicas, messages, breaches>>

(* With the election or, in old releases of Kafka, after it.                 *)
ZkRaiseEpoch ==
    LET written == Apply(<<SetDataOp(ControllerEpochPath, Event.controller_epoch, AnyVersion)>>)
    IN /\ Is("ZkRaiseEpoch")
       /\ Event.controller_epoch >= CurrentControllerEpoch
       /\ znodes' = written.tree
       /\ UNCHANGED <<controllers, replicas, messages, breaches>>

(* As InitLeader; which of the assigned brokers were alive is not compared.  *)
IsFirstState(new) == new.leader_epoch = 0 /\ new.leader \in new.isr

(* An election, or a change of the ISR by the leader or by the controller for*)
(* it (KIP-497). A leader that is alive may be replaced, as an administrator *)
(* asks.                                                                     *)
ZkWriteState ==
    LET new == StateOf(Event)
        version == Event.znode_version
        author == Event.broker_id
        written == Apply(<<IF version = 0 THEN CreateOp(StatePath, new, NoSession)
                           ELSE SetDataOp(StatePath, new, version - 1)>>)
    IN /\ Is("ZkWriteState")
       /\ written.ok
       /\ IsAssigned(new.isr)
       /\ new.controller_epoch <= CurrentControllerEpoch
       /\ Holding(IF version = 0 THEN IsFirstState(new) /\ IsController(author)
                  ELSE \/ IsElection(State, new) /\ IsController(author)
                       \/ /\ IsIsrChange(State, new)
                          /\ author = new.leader \/ IsController(author))
       /\ znodes' = written.tree
       /\ past' = Put(past, version, new)
       /\ led' = IF new.leader = NoBroker THEN led
                 ELSE [led EXCEPT ![new.leader] = @ \cup {new.leader_epoch}]
       /\ UNCHANGED <<controllers, replicas, messages, breaches>>

-----------------------------------------------------------------------------
(* Roles *)

(* A process begins; the one before is gone.                                 *)
NodeStarted ==
    /\ Is("NodeStarted")
    /\ replicas' = [replicas EXCEPT ![Event.broker_id] = StoppedReplica("idle")]
    /\ UNCHANGED <<znodes, controllers, messages, breaches, past>>

IsSame(state) ==
    /\ state.leader = Event.leader
    /\ state.leader_epoch = Event.leader_epoch
    /\ Event.isr = {} \/ state.isr = {} \/ state.isr = Event.isr

(* What a broker is told is a state that there was (CommandReflectsZk). Not  *)
(* having seen the states themselves, what one is told is what another is,   *)
(* and what comes later has no smaller epoch; some are told no ISR.          *)
IsTold ==
    LET version == Event.znode_version
    IN IF version \in DOMAIN past THEN IsSame(past[version])
       ELSE /\ ~HasStates
            /\ Event.leader # NoBroker /\ Event.isr # {} => Event.leader \in Event.isr
            /\ \A v \in DOMAIN past :
                  /\ v < version => past[v].leader_epoch <= Event.leader_epoch
                  /\ v > version => past[v].leader_epoch >= Event.leader_epoch
                  /\ past[v].leader_epoch = Event.leader_epoch => past[v].leader = Event.leader

Told ==
    LET version == Event.znode_version
        is_more == version \notin DOMAIN past \/ past[version].isr = {}
    IN IF HasStates \/ ~is_more THEN past
       ELSE Put(past, version, [leader |-> Event.leader, leader_epoch |-> Event.leader_epoch,
                                isr |-> Event.isr, controller_epoch |-> 0])

(* As Obey; or the broker is told more of the epoch that it knows.           *)
RoleSeen(role) ==
    LET b == Event.broker_id
        command == [to |-> b, leader |-> Event.leader, leader_epoch |-> Event.leader_epoch,
                    znode_version |-> Event.znode_version,
                    controller_epoch |-> Event.controller_epoch]
        is_again == /\ replicas[b].role = role
                    /\ Event.leader_epoch = replicas[b].leader_epoch
                    /\ Event.znode_version >= replicas[b].znode_version
    IN /\ (role = "leader") = (Event.leader = b)
       /\ IsAssigned(Event.isr)
       /\ Holding(IsTold)
       /\ Holding(IsObeyed(b, command) \/ is_again)
       /\ replicas' = [replicas EXCEPT
                        ![b] = [StoppedReplica(role) EXCEPT
                                    !.leader = Event.leader,
                                    !.leader_epoch = Event.leader_epoch,
                                    !.isr = IF role = "leader" THEN Event.isr ELSE {},
                                    !.znode_version = Event.znode_version,
                                    !.controller_epoch = Max({@, Event.controller_epoch})]]
       /\ past' = Told
       /\ UNCHANGED <<znodes, controllers, messages, breaches>>

BecomeLeaderSeen == Is("BecomeLeader") /\ RoleSeen("leader")
BecomeFollowerSeen == Is("BecomeFollower") /\ RoleSeen("follower")

-----------------------------------------------------------------------------
(* Clients *)

(* A client asks. What is known now must be so for the answer.               *)
Begin ==
    /\ Is("Begin")
    /\ sent' = Max({sent, Event.sent})
    /\ begun' = IF Event.op = Unknown THEN begun
                ELSE begun \cup {[op |-> Event.op, committed |-> committed,
                                  newest_epoch |-> NewestEpoch, watermarks |-> watermarks,
                                  replicas |-> replicas]}
    /\ UNCHANGED <<committed, latest_epoch, watermarks>>

Then == CHOOSE operation \in begun : operation.op = Event.op

(* The epochs of which the broker may have answered as leader: it was named, *)
(* and had not gone on to another when it was asked. When it learnt of its   *)
(* own, and of the end of it, is not seen.                                   *)
AnsweredIn ==
    LET b == Event.broker_id
        was == Then.replicas[b]
    IN IF b \notin Brokers THEN {}
       ELSE {e \in led[b] :
                /\ Event.leader_epoch \in {Unknown, e}
                /\ e > was.leader_epoch \/ (e = was.leader_epoch /\ was.role # "follower")}

(* The records of the answer are those of the log, at their offsets.         *)
IsOfTheLog ==
    \A i \in DOMAIN Event.values :
        LET offset == Event.offset + i - 1
            record == Records[offset + 1]
        IN /\ record.value = Event.values[i]
           /\ Places[Event.values[i]] = offset
           /\ Event.record_epochs[i] \in {Unknown, record.leader_epoch}

IsOfLeader(i) ==
    LET epoch == Records[i].leader_epoch
    IN epoch # Unknown =>
          /\ epoch >= latest_epoch
          /\ \E b \in Brokers : epoch \in led[b]
          /\ i > committed + 1 => Records[i - 1].leader_epoch <= epoch

(* So many records are committed: those that are new were sent before, and   *)
(* by leaders that there were, later ones by no earlier leader.              *)
Commit(end) ==
    LET joining == committed + 1 .. end
        epochs == {Records[i].leader_epoch : i \in joining} \ {Unknown}
    IN /\ Holding(\A i \in joining : Records[i].value <= sent /\ IsOfLeader(i))
       /\ committed' = Max({committed, end})
       /\ latest_epoch' = Max({latest_epoch} \cup epochs)

Answered(watermark) ==
    /\ begun' = {operation \in begun : operation.op # Event.op}
    /\ watermarks' = IF Event.leader_epoch = Unknown THEN watermarks
                     ELSE Put(watermarks, Event.leader_epoch,
                              Max({watermark} \cup {watermarks[e] :
                                    e \in DOMAIN watermarks \cap {Event.leader_epoch}}))
    /\ UNCHANGED sent

(* A producer that asked for all is told that its records are safe, by a     *)
(* leader, behind all that was committed when it began; a record that it     *)
(* had sent before may be there already.                                     *)
AcknowledgeSeen ==
    /\ Is("Acknowledge")
    /\ Event.offset >= (IF Event.is_repeated THEN 0 ELSE Then.committed)
    /\ Holding(IsOfTheLog)
    /\ Holding(\E e \in AnsweredIn : \A i \in DOMAIN Event.values :
                  LET epoch == Records[Event.offset + i].leader_epoch
                  IN epoch \in {Unknown, e} \/ (Event.is_repeated /\ epoch < e))
    /\ Commit(Event.offset + Len(Event.values))
    /\ Answered(0)

(* The leader that ZooKeeper names, before and after it was asked, has all   *)
(* that is committed (LeaderComplete); so has the one that answers when all  *)
(* faults are over.                                                          *)
HasWholeLog ==
    \/ Event.is_final
    \/ /\ HasStates
       /\ Then.newest_epoch = NewestEpoch
       /\ State.leader = Event.broker_id

(* A consumer reads committed records, up to a high watermark that does not  *)
(* fall within an epoch.                                                     *)
ReadSeen ==
    LET end == Event.offset + Len(Event.values)
    IN /\ Is("Read")
       /\ AnsweredIn # {}
       /\ Holding(IsOfTheLog)
       /\ Event.values # <<>> => Event.high_watermark >= end
       /\ \A e \in DOMAIN Then.watermarks \cap {Event.leader_epoch} :
             Event.high_watermark >= Then.watermarks[e]
       /\ Holding(Event.log_end_offset # Unknown /\ HasWholeLog =>
                     Event.log_end_offset >= Then.committed)
       /\ Commit(Event.high_watermark)
       /\ Answered(Event.high_watermark)

(* A record that was refused is not in the log.                              *)
RefuseSeen ==
    /\ Is("Refuse")
    /\ Holding(\A i \in DOMAIN Event.values : Places[Event.values[i]] = Unknown)
    /\ UNCHANGED client_vars

(* The disk of a replica after the run: up to its high watermark it holds    *)
(* what is committed, and all of that if it is in the ISR (CommittedDurable).*)
DiskSeen ==
    LET b == Event.broker_id
        is_in_sync == HasStates /\ Exists(znodes, StatePath) /\ b \in State.isr
        end == IF is_in_sync THEN committed ELSE Min({committed, Event.high_watermark})
    IN /\ Is("Disk")
       /\ Len(Event.values) >= end
       /\ Holding(\A i \in 1 .. end : Records[i].value \in {Unknown, Event.values[i]})
       /\ UNCHANGED client_vars

-----------------------------------------------------------------------------
ElectionStep ==
    /\ \/ ZkWriteState
       \/ (ZkElect \/ ZkDismiss \/ ZkRaiseEpoch) /\ UNCHANGED election_vars
       \/ (NodeStarted \/ BecomeLeaderSeen \/ BecomeFollowerSeen) /\ UNCHANGED led
    /\ UNCHANGED client_vars

ClientStep ==
    /\ Begin \/ AcknowledgeSeen \/ ReadSeen \/ RefuseSeen \/ DiskSeen
    /\ UNCHANGED <<znodes, controllers, replicas, messages, breaches, election_vars>>

TraceStep ==
    /\ at <= Len(Events)
    /\ ElectionStep \/ ClientStep
    /\ at' = at + 1
    /\ UNCHANGED <<run, budget>>

Shown ==
    [state |-> IF Exists(znodes, StatePath) THEN <<State>> ELSE <<>>,
     znode_version |-> StateVersion,
     controllers |-> {c \in Controllers : IsController(c)},
     controller_epoch |-> CurrentControllerEpoch,
     replicas |-> [b \in Brokers |->
        [role |-> replicas[b].role,
         leader |-> replicas[b].leader,
         leader_epoch |-> replicas[b].leader_epoch,
         znode_version |-> replicas[b].znode_version,
         led |-> led[b]]],
     committed |-> committed,
     sent |-> sent]

Of(action, brokers) == {<<action, b>> : b \in brokers}

(* Which brokers could do what next.                                         *)
EnabledActions ==
    LET leaders == {b \in Brokers : led[b] # {} /\ replicas[b].role # "follower"}
    IN Of("ElectLeader", {c \in Controllers : IsController(c)})
       \cup Of("ShrinkIsr", leaders)
       \cup Of("ExpandIsr", leaders)
       \cup Of("AdvanceHighWatermark", leaders)

(* TLC takes the disjuncts of TraceNext from left to right, so that the      *)
(* place that had a step last is known.                                      *)
HadStep == 1
ASSUME TLCSet(HadStep, <<0, 0>>)

Stuck ==
    /\ at <= Len(Events)
    /\ TLCGet(HadStep) # Place
    /\ PrintT(<<"stuck", run, at, Shown, EnabledActions>>)
    /\ FALSE
    /\ UNCHANGED <<metadata_vars, election_vars, client_vars, run, at>>

TraceNext == (TraceStep /\ TLCSet(HadStep, Place)) \/ Stuck

-----------------------------------------------------------------------------
Violated ==
    (IF OneLeaderPerEpoch THEN {} ELSE {"OneLeaderPerEpoch"})
    \cup (IF LeaderInIsr THEN {} ELSE {"LeaderInIsr"})

(* As a CONSTRAINT: tells what was found, and does not go on behind it.      *)
Watch ==
    IF Violated # {}
    THEN /\ PrintT(<<"stuck", run, at - 1, Shown, EnabledActions>>)
         /\ PrintT(<<"violated", run, at - 1, Violated>>)
         /\ FALSE
    ELSE IF at > Len(Events) THEN PrintT(<<"accepted", run, {}>>) /\ FALSE
    ELSE TRUE
=============================================================================
