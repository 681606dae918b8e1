------------------------------- MODULE Fencing -------------------------------
(* Incarnations of brokers: a broker that was restarted is another broker    *)
(* under the same id, and may have lost the end of its log. Its epoch is the *)
(* czxid of its registration (BEP-001). Commands name the incarnation that   *)
(* they were built for, by its own epoch (level 3) or by the largest epoch   *)
(* of all brokers (level 4), and so do the members of the ISR. Below that    *)
(* (level 2) neither says so: the controller compares with what it remembers.*)
(*                                                                           *)
(* One partition, one record, and one controller at a time: what deposed     *)
(* controllers may do is `LeaderAndIsr`'s, and so are writes that overtake   *)
(* each other. Reading the state, deciding and publishing are one step here. *)
(* A broker has the record or not; a crash keeps it or loses it, by chance.  *)
EXTENDS Znodes, FiniteSets, TLC

CONSTANTS
    Brokers,        \* positive numbers; all of them are assigned replicas
    InitialIsr,     \* of the first leader, its smallest member
    Level,          \* 2: no epoch of brokers; 3: broker_epoch; 4: max_broker_epoch
    LastReplica,    \* when no incarnation of the ISR is left: "elect" one that returns, or "wait"
    Limits          \* how often each bounded thing may happen

VARIABLES
    znodes,         \* registrations, and the state of the partition
    zxid,           \* of the last registration; no other transaction needs a number
    controller,     \* what the controller knows
    replicas,       \* per broker its incarnation, its role and its log
    messages,       \* commands in flight: any may be late, overtaken or never arrive
    budget,         \* what is left of Limits
    is_committed,   \* history: the record was committed once
    lost_in_crash,  \* history: the brokers that lost it in a crash of their own
    incarnations,   \* history: the last broker epoch that each broker was given
    is_loss_told,   \* history: an election said that records may be lost
    breaches        \* history: acts that no rule allows

history == <<is_committed, lost_in_crash, incarnations, is_loss_told, breaches>>
vars == <<znodes, zxid, controller, replicas, messages, budget, history>>

ASSUME Level \in {2, 3, 4}
ASSUME LastReplica \in {"elect", "wait"}

NoBroker == -1
NoEpoch == -1
NoBrokerEpoch == -1

StatePath == "/brokers/topics/t/0/leaderAndISR"
BrokerPaths == [b \in Brokers |-> "/brokers/ids/" \o ToString(b)]
BrokerPath(b) == BrokerPaths[b]
Paths == {StatePath} \cup {BrokerPath(b) : b \in Brokers}

State == znodes[StatePath].data
StateVersion == znodes[StatePath].version

(* The epoch of each registered broker, 0 of one that is not registered.     *)
Registrations == [b \in Brokers |-> znodes[BrokerPath(b)].czxid]
Registered(epochs) == {b \in Brokers : epochs[b] # 0}
Largest(epochs) == CHOOSE e \in {epochs[b] : b \in Brokers} : \A b \in Brokers : epochs[b] <= e

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

Breach(invariant, actor, is_breached) ==
    breaches' = breaches
        \cup (IF is_breached THEN {[invariant |-> invariant, actor |-> actor]} ELSE {})

(* The ISR names incarnations; at level 2 it keeps ids alone, as V3 does.    *)
HasIdsOnly == Level = 2
Member(b, epoch) ==
    [broker |-> b, broker_epoch |-> IF HasIdsOnly THEN NoBrokerEpoch ELSE epoch]
MemberIds(isr) == {member.broker : member \in isr}

(* Does the controller, when these are the registrations, take this member   *)
(* for the one that joined the ISR? With ids alone it can compare with what  *)
(* it remembers (KIP-380).                                                   *)
IsAsRemembered(member, epochs) ==
    /\ epochs[member.broker] # 0
    /\ epochs[member.broker] = controller.view[member.broker]
    /\ member.broker \notin controller.bounced
IsCurrent(member, epochs) ==
    IF HasIdsOnly THEN IsAsRemembered(member, epochs)
    ELSE epochs[member.broker] = member.broker_epoch

StoppedReplica(r) ==
    [r EXCEPT !.role = "down", !.broker_epoch = NoBrokerEpoch, !.leader = NoBroker,
              !.leader_epoch = NoEpoch, !.isr = {}, !.znode_version = NoEpoch, !.caught_up = {}]

FirstLeader == CHOOSE b \in InitialIsr : \A other \in InitialIsr : b <= other
FirstIsr == {Member(b, b) : b \in InitialIsr}

FirstLevel == Level

(* Every broker is registered, in order of ids, and has obeyed the first     *)
(* command; the controller has not yet noticed that it was received.         *)
Init ==
    /\ znodes = [path \in Paths |->
                    IF path = StatePath
                    THEN [data |-> [leader |-> FirstLeader, leader_epoch |-> 0, isr |-> FirstIsr],
                          version |-> 0, ephemeral_owner |-> NoSession, czxid |-> 0]
                    ELSE LET b == CHOOSE b \in Brokers : BrokerPath(b) = path
                         IN [data |-> <<>>, version |-> 0, ephemeral_owner |-> b, czxid |-> b]]
    /\ zxid = Cardinality(Brokers)
    /\ controller = [view |-> [b \in Brokers |-> b], bounced |-> {}, is_send_due |-> TRUE,
                     level |-> Level]
    /\ replicas = [b \in Brokers |->
                    [role |-> IF b = FirstLeader THEN "leader" ELSE "follower",
                     broker_epoch |-> b, leader |-> FirstLeader, leader_epoch |-> 0,
                     isr |-> IF b = FirstLeader THEN FirstIsr ELSE {},
                     znode_version |-> 0, caught_up |-> {}, has_record |-> FALSE,
                     level |-> FirstLevel]]
    /\ messages = {}
    /\ budget = Limits
    /\ is_committed = FALSE
    /\ lost_in_crash = {}
    /\ incarnations = [b \in Brokers |-> b]
    /\ is_loss_told = FALSE
    /\ breaches = {}

-----------------------------------------------------------------------------
(* Incarnations *)

(* The process stops. What it had not synced is lost if the machine stops    *)
(* too: the record stays or goes. The registration lives on until the        *)
(* session expires.                                                          *)
CrashBroker(b) ==
    /\ Spend("crashes")
    /\ replicas[b].role # "down"
    /\ \E is_lost \in {FALSE, replicas[b].has_record} :
          /\ replicas' = [replicas EXCEPT
                            ![b] = [StoppedReplica(@) EXCEPT !.has_record = @ /\ ~is_lost]]
          /\ lost_in_crash' = lost_in_crash \cup (IF is_lost THEN {b} ELSE {})
    /\ UNCHANGED <<znodes, zxid, controller, messages, is_committed, incarnations,
                   is_loss_told, breaches>>

(* The session of a dead broker ends in any case, that of a live one now and *)
(* then. A live one notices later, when it registers again.                  *)
ExpireSession(b) ==
    /\ znodes[BrokerPath(b)].czxid # 0
    /\ IF replicas[b].role = "down" THEN UNCHANGED budget ELSE Spend("expiries")
    /\ znodes' = [znodes EXCEPT ![BrokerPath(b)] = Absent]
    /\ UNCHANGED <<zxid, controller, replicas, messages, history>>

(* A process starts, or one gets another session after the end of its own:   *)
(* the czxid of the new znode is its epoch from now on. One that starts      *)
(* reads leader epoch and version of its partition before it obeys any       *)
(* command (`Startup` says why). The create fails while the old session      *)
(* lives (START-005).                                                        *)
OwnEpoch(b) == zxid + 1
RegisterBroker(b) ==
    LET written == Multi(znodes, <<CreateOp(BrokerPath(b), <<>>, b)>>, zxid + 1)
        started == [replicas[b] EXCEPT !.role = "idle", !.leader_epoch = State.leader_epoch,
                                       !.znode_version = StateVersion]
    IN /\ written.ok
       /\ znodes' = written.tree
       /\ zxid' = zxid + 1
       /\ replicas' = [replicas EXCEPT
                        ![b] = [(IF replicas[b].role = "down" THEN started ELSE replicas[b])
                                    EXCEPT !.broker_epoch = OwnEpoch(b)]]
       /\ incarnations' = [incarnations EXCEPT ![b] = zxid + 1]
       /\ UNCHANGED <<controller, messages, budget, is_committed, lost_in_crash, is_loss_told,
                      breaches>>

-----------------------------------------------------------------------------
(* The controller *)

Arrived(differing, look) == {b \in differing : look[b] # 0}
Remembered(differing) == IF HasIdsOnly THEN differing ELSE {}

(* A broker with another epoch than before was restarted, or at least was    *)
(* gone: a failure and then a start (BEP-006). Comparing epochs shows this   *)
(* even if the list of ids is as it was. An arrival is sent the present      *)
(* state. All that was read is handled together: a new broker before a       *)
(* bounced one would leave an old epoch beside a newer one.                  *)
Learn(look) ==
    LET differing == {b \in Brokers : look[b] # controller.view[b]}
    IN controller' = [controller EXCEPT
                        !.view = look, !.bounced = @ \cup Remembered(differing),
                        !.is_send_due = @ \/ Arrived(differing, look) # {}]

(* The controller reads the registrations, in one step. `RegistrationReading`*)
(* has it list the brokers and then read one by one.                         *)
DetectBrokerChange ==
    /\ Registrations # controller.view
    /\ Learn(Registrations)
    /\ UNCHANGED <<znodes, zxid, replicas, messages, budget, history>>

CurrentMembers == {member \in State.isr : IsCurrent(member, controller.view)}

IsAffected ==
    \/ State.isr # CurrentMembers
    \/ State.leader \notin MemberIds(CurrentMembers)

Publish(state, tells_loss) ==
    LET written == Multi(znodes, <<SetDataOp(StatePath, state, StateVersion)>>, zxid)
    IN /\ znodes' = written.tree
       /\ controller' = [controller EXCEPT !.is_send_due = TRUE, !.bounced = {}]
       /\ is_loss_told' = (is_loss_told \/ tells_loss)
       /\ UNCHANGED <<zxid, replicas, messages, budget, is_committed, lost_in_crash,
                      incarnations, breaches>>

(* The policy for the last replica. When every incarnation of the ISR is     *)
(* gone, it is not known whether the committed records are still there.      *)
(* "elect": a broker of the ISR that is back leads alone, the last leader if *)
(* it is back, and the election says that records may be lost, since         *)
(* otherwise a partition of one replica ends with its first restart. Alone:  *)
(* another member that is back may lack what the leader has, and could lead  *)
(* later by an election that says nothing. "wait": there is no leader, the   *)
(* ISR is kept (FAIL-003), and a person decides. A third way, silence, is    *)
(* the mutant.                                                               *)
TellsLoss == TRUE
Alone(b) == {Member(b, controller.view[b])}
ElectLastReplica ==
    LET back == MemberIds(State.isr) \cap Registered(controller.view)
    IN IF LastReplica = "elect" /\ back # {}
       THEN \E b \in (IF State.leader \in back THEN {State.leader} ELSE back) :
              Publish([leader |-> b, leader_epoch |-> State.leader_epoch + 1,
                       isr |-> Alone(b)], TellsLoss)
       ELSE /\ State.leader # NoBroker
            /\ Publish([State EXCEPT !.leader = NoBroker, !.leader_epoch = @ + 1], FALSE)

Named(members) == members

(* A live leader stays, else any member of the ISR that is still the same    *)
(* incarnation leads; the others are no longer members.                      *)
ElectLeader ==
    LET ids == MemberIds(CurrentMembers)
    IN /\ IsAffected
       /\ IF ids = {} THEN ElectLastReplica
          ELSE \E b \in (IF State.leader \in ids THEN {State.leader} ELSE ids) :
                 Publish([State EXCEPT !.leader = b, !.leader_epoch = @ + 1,
                                       !.isr = Named(CurrentMembers)], FALSE)

Command(b) ==
    [to |-> b, leader |-> State.leader, leader_epoch |-> State.leader_epoch, isr |-> State.isr,
     znode_version |-> StateVersion,
     broker_epoch |-> IF controller.level = 3 THEN controller.view[b] ELSE NoBrokerEpoch,
     max_broker_epoch |-> IF controller.level = 4 THEN Largest(controller.view)
                          ELSE NoBrokerEpoch,
     built_for |-> controller.view[b]]

(* The present state to every broker that the controller knows, once all     *)
(* failures that it knows of are decided: a bounced broker has failed before *)
(* it starts. The stamp is of the same view as the decision. `built_for` is  *)
(* history and not on the wire.                                              *)
IsAllDecided == ~IsAffected \/ State.leader = NoBroker
SendLeaderAndIsr ==
    /\ controller.is_send_due
    /\ IsAllDecided
    /\ messages' = messages \cup {Command(b) : b \in Registered(controller.view)}
    /\ controller' = [controller EXCEPT !.is_send_due = FALSE]
    /\ UNCHANGED <<znodes, zxid, replicas, budget, history>>

(* Another broker becomes controller and knows what it reads, not what its   *)
(* predecessor remembered. It sends everything again (V3 D).                 *)
ElectController ==
    /\ Spend("controller_changes")
    /\ controller' = [controller EXCEPT !.view = Registrations, !.bounced = {},
                                        !.is_send_due = TRUE]
    /\ UNCHANGED <<znodes, zxid, replicas, messages, history>>

-----------------------------------------------------------------------------
(* Brokers obey *)

(* What a receiver finds in a command. Level 4 takes the old field away, so  *)
(* that a receiver of level 3 finds nothing in it.                           *)
MaxStamp(m) == m.max_broker_epoch
StampFor(b, m) ==
    IF replicas[b].level = 4 /\ m.max_broker_epoch # NoBrokerEpoch THEN MaxStamp(m)
    ELSE m.broker_epoch

IsUnderstood(b, m) == replicas[b].level = 2 \/ StampFor(b, m) # NoBrokerEpoch

(* A smaller epoch than the broker's own is another incarnation's (BEP-002,  *)
(* BEP-003); a larger one is that of another broker, or one that this broker *)
(* has yet to hear of. A command without epoch could be of any incarnation.  *)
IsForThisIncarnation(b, m) ==
    \/ replicas[b].level = 2
    \/ IsUnderstood(b, m) /\ StampFor(b, m) >= replicas[b].broker_epoch

(* A replica that has just started obeys what it has read. `Startup` and the *)
(* core are stricter, to lead it needs a newer epoch (START-002): then these *)
(* attacks need one more election, decided before the bounce was seen.       *)
IsNewer(b, m) ==
    \/ m.leader_epoch > replicas[b].leader_epoch
    \/ /\ replicas[b].role = "idle"
       /\ m.leader_epoch = replicas[b].leader_epoch
       /\ m.znode_version >= replicas[b].znode_version

(* What is obeyed is consumed, and with it what no broker will ever obey:    *)
(* the older commands to the same broker. All others stay in flight.         *)
IsStillOfUse(other, m) ==
    other # m /\ (other.to = m.to => other.leader_epoch >= m.leader_epoch)

IsOfAnother(b, m) == m.built_for # incarnations[b]
Obey(b, m, role, isr, caught_up) ==
    /\ m.to = b
    /\ replicas[b].role # "down"
    /\ IsForThisIncarnation(b, m)
    /\ IsNewer(b, m)
    /\ messages' = {other \in messages : IsStillOfUse(other, m)}
    /\ replicas' = [replicas EXCEPT
                        ![b].role = role, ![b].leader = m.leader,
                        ![b].leader_epoch = m.leader_epoch, ![b].isr = isr,
                        ![b].znode_version = m.znode_version, ![b].caught_up = caught_up]
    /\ Breach("StaleIncarnationHarmless", b, IsOfAnother(b, m))
    /\ UNCHANGED <<znodes, zxid, controller, budget, is_committed, lost_in_crash, incarnations,
                   is_loss_told>>

(* With each leader epoch the leader forgets how far its followers are.      *)
CaughtUpAtFirst(b) == {}
BecomeLeader(b) ==
    \E m \in messages : m.leader = b /\ Obey(b, m, "leader", m.isr, CaughtUpAtFirst(b))

(* The replica follows another leader, or none while the partition waits.    *)
BecomeFollower(b) == \E m \in messages : m.leader # b /\ Obey(b, m, "follower", {}, {})

-----------------------------------------------------------------------------
(* The record *)

Log(b) == replicas[b].has_record
IsLeading(b) == replicas[b].role = "leader"
IsFetching(f, l) ==
    /\ f # l
    /\ replicas[f].role = "follower"
    /\ IsLeading(l)
    /\ replicas[f].leader = l
    /\ replicas[f].leader_epoch = replicas[l].leader_epoch

SetReplicas(after) ==
    /\ replicas' = after
    /\ UNCHANGED <<znodes, zxid, controller, messages, history>>

(* The one record is produced. No replica has reached this log end yet.      *)
LeaderAppend(l) ==
    /\ IsLeading(l)
    /\ Spend("records")
    /\ SetReplicas([replicas EXCEPT ![l].has_record = TRUE, ![l].caught_up = {}])

(* A fetch in one step: the follower gets what its leader has.               *)
FollowerAppend(f) ==
    /\ \E l \in Brokers : IsFetching(f, l) /\ Log(l) /\ ~Log(f)
    /\ SetReplicas([replicas EXCEPT ![f].has_record = TRUE])
    /\ UNCHANGED budget

(* The follower drops what its leader does not have (`Replication` says how  *)
(* it finds out).                                                            *)
TruncateLog(f) ==
    /\ \E l \in Brokers : IsFetching(f, l) /\ Log(f) /\ ~Log(l)
    /\ SetReplicas([replicas EXCEPT ![f].has_record = FALSE])
    /\ UNCHANGED budget

FetchEpoch(f) == replicas[f].broker_epoch

(* The leader learns from a fetch that this incarnation is at its log end.   *)
ServeFetch(l, f) ==
    LET seen == [broker |-> f, broker_epoch |-> FetchEpoch(f)]
    IN /\ IsFetching(f, l)
       /\ Log(f) = Log(l)
       /\ seen \notin replicas[l].caught_up
       /\ SetReplicas([replicas EXCEPT ![l].caught_up = @ \cup {seen}])
       /\ UNCHANGED budget

KnowsByIdOnly == HasIdsOnly
HasReached(l, member) ==
    \/ member.broker = l
    \/ member \in replicas[l].caught_up
    \/ KnowsByIdOnly /\ member.broker \in MemberIds(replicas[l].caught_up)

(* The record is committed when all incarnations of the ISR have it.         *)
AdvanceHighWatermark(l) ==
    /\ IsLeading(l)
    /\ Log(l)
    /\ ~is_committed
    /\ \A member \in replicas[l].isr : HasReached(l, member)
    /\ is_committed' = TRUE
    /\ UNCHANGED <<znodes, zxid, controller, replicas, messages, budget, lost_in_crash,
                   incarnations, is_loss_told, breaches>>

(* An incarnation at the log end joins, under the epoch of its fetch; if it  *)
(* has bounced since, the controller will see that. Asking and writing are   *)
(* one step, as `LeaderAndIsr` has both.                                     *)
MayJoin(member) == TRUE
Joining(l, f) ==
    {member \in {Member(f, e) : e \in 1 .. zxid} : HasReached(l, member) /\ MayJoin(member)}
ExpectedVersion(l) == replicas[l].znode_version
CaughtUpAfter(l, f) == replicas[l].caught_up
ExpandIsr(l, f) ==
    /\ IsLeading(l)
    /\ f \notin MemberIds(replicas[l].isr)
    /\ \E member \in Joining(l, f) :
          LET isr == replicas[l].isr \cup {member}
              state == [State EXCEPT !.isr = isr]
              op == SetDataOp(StatePath, state, ExpectedVersion(l))
              written == Multi(znodes, <<op>>, zxid)
          IN /\ written.ok
             /\ znodes' = written.tree
             /\ replicas' = [replicas EXCEPT
                              ![l].isr = isr, ![l].znode_version = @ + 1,
                              ![l].caught_up = CaughtUpAfter(l, f)]
    /\ UNCHANGED <<zxid, controller, messages, budget, history>>

-----------------------------------------------------------------------------
(* The rolling upgrade from level 3 to level 4 *)

(* First pass: a broker is stopped in an orderly way, so that its log stays, *)
(* and comes back with code that understands both fields.                    *)
UpgradeBroker(b) ==
    /\ replicas[b].role # "down"
    /\ replicas[b].level = 3
    /\ Spend("upgrades")
    /\ replicas' = [replicas EXCEPT ![b] = [StoppedReplica(@) EXCEPT !.level = 4]]
    /\ UNCHANGED <<znodes, zxid, controller, messages, history>>

MayGoBack == controller.level = 3

(* The way back, as long as the controller sends the old field.              *)
DowngradeBroker(b) ==
    /\ replicas[b].role # "down"
    /\ replicas[b].level = 4
    /\ Level = 3
    /\ MayGoBack
    /\ Spend("downgrades")
    /\ replicas' = [replicas EXCEPT ![b] = [StoppedReplica(@) EXCEPT !.level = 3]]
    /\ UNCHANGED <<znodes, zxid, controller, messages, history>>

(* Second pass: the controller sends the new field in place of the old one.  *)
(* Not before every broker understands it.                                   *)
HasNewCode == \A b \in Brokers : replicas[b].level = 4
RaiseInterBrokerProtocol ==
    /\ controller.level = 3
    /\ HasNewCode
    /\ controller' = [controller EXCEPT !.level = 4]
    /\ UNCHANGED <<znodes, zxid, replicas, messages, budget, history>>

-----------------------------------------------------------------------------
Next ==
    \/ \E b \in Brokers : CrashBroker(b)
    \/ \E b \in Brokers : ExpireSession(b)
    \/ \E b \in Brokers : RegisterBroker(b)
    \/ DetectBrokerChange
    \/ ElectLeader
    \/ SendLeaderAndIsr
    \/ ElectController
    \/ \E b \in Brokers : BecomeLeader(b)
    \/ \E b \in Brokers : BecomeFollower(b)
    \/ \E l \in Brokers : LeaderAppend(l)
    \/ \E f \in Brokers : FollowerAppend(f)
    \/ \E f \in Brokers : TruncateLog(f)
    \/ \E l, f \in Brokers : ServeFetch(l, f)
    \/ \E l \in Brokers : AdvanceHighWatermark(l)
    \/ \E l, f \in Brokers : ExpandIsr(l, f)
    \/ \E b \in Brokers : UpgradeBroker(b)
    \/ \E b \in Brokers : DowngradeBroker(b)
    \/ RaiseInterBrokerProtocol

-----------------------------------------------------------------------------
(* What is committed is due until an election says that it may be lost.      *)
IsDue == is_committed /\ ~is_loss_told

IsUp(b) == replicas[b].role # "down"

(* How often a broker may be gone for a while.                               *)
Absences ==
    Limits["crashes"] + Limits["expiries"] + Limits["upgrades"] + Limits["downgrades"]
        + Limits["shutdowns"]

TypeOK ==
    /\ DOMAIN znodes = Paths
    /\ \A b \in Brokers : Registrations[b] \in {0, incarnations[b]}
    /\ State.leader \in Brokers \cup {NoBroker}
    /\ State.leader_epoch \in Nat
    /\ State.isr # {} /\ MemberIds(State.isr) \subseteq Brokers
    /\ zxid <= Cardinality(Brokers) + Absences
    /\ State.leader_epoch <= 2 * Absences + Limits["shutdowns"]
    /\ controller.view \in [Brokers -> 0 .. zxid]
    /\ controller.bounced \subseteq Brokers
    /\ controller.is_send_due \in BOOLEAN
    /\ controller.level \in {2, 3, 4}
    /\ \A b \in Brokers :
          /\ replicas[b].role \in {"leader", "follower", "idle", "down"}
          /\ replicas[b].broker_epoch \in {NoBrokerEpoch} \cup 1 .. zxid
          /\ replicas[b].leader \in Brokers \cup {NoBroker}
          /\ replicas[b].leader_epoch \in {NoEpoch} \cup 0 .. State.leader_epoch
          /\ replicas[b].znode_version \in {NoEpoch} \cup 0 .. StateVersion
          /\ MemberIds(replicas[b].isr) \subseteq Brokers
          /\ MemberIds(replicas[b].caught_up) \subseteq Brokers
          /\ replicas[b].has_record \in BOOLEAN
          /\ replicas[b].level \in {2, 3, 4}
          /\ ~IsUp(b) =>
                /\ replicas[b].broker_epoch = NoBrokerEpoch /\ replicas[b].leader = NoBroker
                /\ replicas[b].leader_epoch = NoEpoch /\ replicas[b].znode_version = NoEpoch
                /\ replicas[b].isr = {} /\ replicas[b].caught_up = {}
    /\ \A m \in messages : m.to \in Brokers /\ m.built_for \in 1 .. zxid
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]
    /\ is_committed \in BOOLEAN
    /\ lost_in_crash \subseteq Brokers
    /\ incarnations \in [Brokers -> 1 .. zxid]
    /\ is_loss_told \in BOOLEAN

(* No command that was built for an old incarnation is obeyed by a new one.  *)
\* @req BEP-002
\* @req BEP-003
\* @req BEP-004
StaleIncarnationHarmless ==
    \A breach \in breaches : breach.invariant # "StaleIncarnationHarmless"

(* Whoever may be elected cleanly has the committed record: the members of   *)
(* the ISR that run as the incarnation which the controller takes them for.  *)
\* @req BEP-006
CommittedDurable ==
    IsDue => \A member \in State.isr :
                (/\ replicas[member.broker].role # "down"
                 /\ IsCurrent(member, Registrations)) => Log(member.broker)

(* The acting leader has the committed record.                               *)
IsActing(b) ==
    IsLeading(b) /\ State.leader = b /\ State.leader_epoch = replicas[b].leader_epoch
\* @req BEP-006
LeaderComplete == IsDue => \A b \in Brokers : IsActing(b) => Log(b)

(* The committed record is gone everywhere only if each broker of the ISR    *)
(* lost it in a crash of its own, never because one was told to drop it.     *)
\* @req BEP-006
NotGloballyLost ==
    (IsDue /\ \A b \in Brokers : ~Log(b)) => MemberIds(State.isr) \subseteq lost_in_crash

(* No step of an upgrade leaves a broker with commands that it cannot read.  *)
\* @req UMD-003
CommandsUnderstood ==
    \A m \in messages : (IsUp(m.to) /\ m.built_for = incarnations[m.to]) => IsUnderstood(m.to, m)

(* No broker refuses, for its epoch, a command that was built for it.        *)
\* @req BEP-002
\* @req BEP-003
FreshCommandsPass ==
    \A m \in messages :
        (IsUp(m.to) /\ m.built_for = incarnations[m.to] /\ IsUnderstood(m.to, m))
            => IsForThisIncarnation(m.to, m)

(* What a replica knows is what its role needs.                              *)
\* @req ISR-003
RoleTellsMemory ==
    \A b \in Brokers : LET r == replicas[b] IN
        /\ r.role = "leader" <=> r.isr # {}
        /\ r.role = "leader" <=> r.leader = b
        /\ r.role # "leader" => r.caught_up = {}
        /\ r.role = "idle" => r.leader = NoBroker
        /\ IsUp(b) => r.broker_epoch = incarnations[b] \/ r.broker_epoch < incarnations[b]

(* A leader that knows the version of the state knows the state.             *)
\* @req ZK-003
VersionAgreement ==
    \A b \in Brokers : IsLeading(b) /\ replicas[b].znode_version = StateVersion =>
        /\ State.leader = b
        /\ State.leader_epoch = replicas[b].leader_epoch
        /\ State.isr = replicas[b].isr

(* A broker registers under a new number, and a process that starts registers*)
(* and reads the state before it obeys anything.                             *)
\* @req BEP-001
RegistrationsAreNew ==
    [][\A b \in Brokers : LET next == replicas'[b] IN
        /\ next.broker_epoch \notin {replicas[b].broker_epoch, NoBrokerEpoch} =>
            /\ znodes'[BrokerPath(b)].czxid = next.broker_epoch
            /\ next.broker_epoch > zxid
        /\ ~IsUp(b) /\ next.role # "down" =>
            /\ next.role = "idle"
            /\ next.broker_epoch > zxid
            /\ next.leader_epoch = State.leader_epoch
            /\ next.znode_version = StateVersion
            /\ next.has_record = Log(b)]_vars

(* A process that ends keeps its log, or has lost it with the machine.       *)
\* @req BEP-006
LogsOutliveProcesses ==
    [][\A b \in Brokers : Log(b) /\ IsUp(b) # (replicas'[b].role # "down") =>
        replicas'[b].has_record \/ b \in lost_in_crash']_vars

(* A running process loses the record only to a leader that lacks it, and    *)
(* gets it from its own leader alone.                                        *)
\* @req REPL-001
\* @req CMD-005
RecordsComeFromLeaders ==
    [][\A b \in Brokers :
        replicas[b].role = "follower" /\ replicas'[b].role = "follower"
            /\ replicas'[b].has_record # Log(b)
            => \E l \in Brokers \ {b} : /\ replicas[b].leader = l
                                        /\ replicas[l].leader_epoch = replicas[b].leader_epoch
                                        /\ IsLeading(l)
                                        /\ Log(l) = replicas'[b].has_record]_vars

(* What an incarnation has obeyed it never takes back, and obeys it once.    *)
\* @req CMD-002
ObeyedStays ==
    [][\A b \in Brokers : LET now == replicas[b] next == replicas'[b] IN
        (now.role # "down" /\ next.role # "down") =>
            \/ next.leader_epoch > now.leader_epoch
            \/ /\ next.leader_epoch = now.leader_epoch
               /\ next.znode_version >= now.znode_version
               /\ next.role = now.role \/ now.role = "idle"]_vars

(* A command is gone when it is obeyed, which makes the replica what the     *)
(* command says; older ones to the same broker go with it, and no others.    *)
(* Nothing else gives a running process a role.                              *)
\* @req CMD-002
CommandsAreObeyed ==
    [][/\ messages \ messages' # {} => \E obeyed \in messages \ messages' :
            LET next == replicas'[obeyed.to]
            IN /\ messages \ messages' = {obeyed} \cup {m \in messages :
                    m.to = obeyed.to /\ m.leader_epoch < obeyed.leader_epoch}
               /\ next.role = (IF obeyed.leader = obeyed.to THEN "leader" ELSE "follower")
               /\ next.leader = obeyed.leader
               /\ next.leader_epoch = obeyed.leader_epoch
               /\ next.znode_version = obeyed.znode_version
               /\ next.isr = (IF obeyed.leader = obeyed.to THEN obeyed.isr ELSE {})
               /\ next.caught_up = {}
       /\ \A b \in Brokers : LET now == replicas[b] next == replicas'[b] IN
            (/\ now.role # "down" /\ next.role # "down"
             /\ <<next.role, next.leader, next.leader_epoch>>
                    # <<now.role, now.leader, now.leader_epoch>>) =>
                \E m \in messages \ messages' : m.to = b /\ m.leader_epoch = next.leader_epoch]_vars

(* What a bound allows changes something else than what is left of it: an    *)
(* upgrade brings other code, a fault ends a process or its registration.    *)
BoundedStepsHaveEffect ==
    [][/\ budget'["upgrades"] < budget["upgrades"] =>
            \E b \in Brokers : replicas[b].level = 3 /\ replicas'[b].level = 4
       /\ budget'["crashes"] + budget'["expiries"] + budget'["records"]
            < budget["crashes"] + budget["expiries"] + budget["records"] =>
                <<znodes, replicas>>' # <<znodes, replicas>>]_vars

(* A command tells what ZooKeeper holds when it is sent, to the incarnation  *)
(* that the controller sees.                                                 *)
\* @req BEP-002
CommandsTellWhatIs ==
    [][\A m \in messages' \ messages :
        /\ m.leader = State.leader
        /\ m.leader_epoch = State.leader_epoch
        /\ m.isr = State.isr
        /\ m.znode_version = StateVersion
        /\ m.built_for = controller.view[m.to]
        /\ m.broker_epoch \in {NoBrokerEpoch, m.built_for}]_vars

(* A controller knows the registrations as they are when it looks. A broker  *)
(* that has come is told what stands, and all are told what is decided.      *)
\* @req BEP-006
ControllersKnowWhatTheyRead ==
    [][LET now == controller next == controller' IN
        /\ \A b \in Brokers : next.view[b] \in {now.view[b], Registrations[b]}
        /\ next.bounced # {} => HasIdsOnly
        /\ (\E b \in Brokers : next.view[b] \notin {0, now.view[b]}) => next.is_send_due
        /\ znodes'[StatePath].data.leader_epoch # State.leader_epoch => next.is_send_due
        /\ now.is_send_due /\ ~next.is_send_due => \A b \in Brokers :
            now.view[b] = 0 \/ \E m \in messages' :
                m.to = b /\ m.znode_version = StateVersion /\ m.built_for = now.view[b]]_vars

-----------------------------------------------------------------------------
(* What keeps on being possible is done at last: dead sessions end, brokers  *)
(* start and register, the controller looks, decides and tells, and what is  *)
(* told arrives. Crashes are not excluded: they are bounded.                 *)
Fairness ==
    /\ \A b \in Brokers :
          /\ WF_vars(replicas[b].role = "down" /\ ExpireSession(b))
          /\ WF_vars(RegisterBroker(b))
          /\ WF_vars(BecomeLeader(b))
          /\ WF_vars(BecomeFollower(b))
    /\ WF_vars(DetectBrokerChange)
    /\ WF_vars(ElectLeader)
    /\ WF_vars(SendLeaderAndIsr)

Spec == Init /\ [][Next]_vars /\ Fairness

(* Every broker comes to have the role that ZooKeeper says.                  *)
\* @req BEP-003
BrokerEventuallyLearnsRole ==
    \A b \in Brokers :
        <>[](/\ replicas[b].leader_epoch = State.leader_epoch
             /\ replicas[b].role = IF State.leader = b THEN "leader" ELSE "follower")

(* One controller at a time reads, decides and writes in one step; the       *)
(* members of the ISR are incarnations.                                      *)
AsStateZnode == INSTANCE StateZnode WITH
    BrokerOf <- LAMBDA member : member.broker,
    state <- [leader |-> State.leader, leader_epoch |-> State.leader_epoch, isr |-> State.isr,
              controller_epoch |-> 0],
    version <- StateVersion,
    assigned <- Brokers,
    decided_on <- {StateVersion},
    asked_on <- {replicas[l].znode_version : l \in {l \in Brokers : IsLeading(l)}},
    controller_epoch <- 0,
    is_loss_told <- is_loss_told

(* The znode of the state changes as `StateZnode` says: no election takes    *)
(* another incarnation of a member for the one that joined.                  *)
\* @req ZK-003
\* @req FAIL-004
RefinesStateZnode == AsStateZnode!Spec

(* The members that the controller sees as what joined. Ids alone do not say *)
(* what did: there it is what is registered, and was not gone since the last *)
(* decision.                                                                 *)
NamesIdsOnly == \A member \in State.isr : member.broker_epoch = NoBrokerEpoch
SeenMembers ==
    {member \in State.isr : LET epoch == controller.view[member.broker] IN
        /\ epoch # 0
        /\ IF NamesIdsOnly THEN member.broker \notin controller.bounced
           ELSE epoch = member.broker_epoch}

(* Another leads only where the leader has failed: the incarnation that is   *)
(* in the ISR is gone, and with it, where no other member is left, the       *)
(* broker itself.                                                            *)
\* @req FAIL-001
LeaderIsKept ==
    [][LET next == znodes'[StatePath].data
       IN (next.leader # State.leader /\ State.leader # NoBroker) =>
            /\ State.leader \notin MemberIds(SeenMembers)
            /\ SeenMembers = {} => LastReplica = "wait" \/ controller.view[State.leader] = 0]_vars

-----------------------------------------------------------------------------
(* What must be possible *)

HasBounced(b) == incarnations[b] > Cardinality(Brokers)
IsFollowing(b) ==
    replicas[b].role = "follower" /\ replicas[b].leader = State.leader
        /\ replicas[b].leader_epoch = State.leader_epoch

(* Each replica has the record, and it is committed.                         *)
RecordReplicated == is_committed /\ \A b \in Brokers : Log(b)

(* An election is known everywhere: one leads, and all others follow it.     *)
ElectionObeyedByAll ==
    /\ State.leader_epoch > 0
    /\ \A b \in Brokers : IF b = State.leader THEN IsActing(b) ELSE IsFollowing(b)

(* The follower has bounced: its leader stays, alone in the ISR.             *)
LeaderStays ==
    State.leader_epoch > 0 /\ IsActing(FirstLeader) /\ MemberIds(State.isr) = {FirstLeader}

(* The leader has bounced: the other leads with the record that it committed.*)
FollowerLeads ==
    is_committed /\ ~is_loss_told /\ \E b \in Brokers \ {FirstLeader} : IsActing(b) /\ Log(b)

(* It leads before the former leader is back, by a command of its own.       *)
NewLeaderActsAlone ==
    /\ ~IsUp(FirstLeader) /\ ~HasBounced(FirstLeader)
    /\ \E b \in Brokers \ {FirstLeader} : IsActing(b)
    /\ \E m \in messages : m.leader_epoch < State.leader_epoch

(* A new incarnation is back in the ISR of a later epoch, and obeys.         *)
BouncedReplicaIsBackInSync ==
    \E b \in MemberIds(State.isr) :
        HasBounced(b) /\ IsFollowing(b) /\ State.leader_epoch > 0 /\ Cardinality(State.isr) > 1

(* It has fetched the record that its crash lost.                            *)
LostRecordIsFetched == IsDue /\ \E b \in lost_in_crash : Log(b)

(* It is elected by an election that loses nothing.                          *)
BouncedReplicaLeads == ~is_loss_told /\ \E b \in Brokers : HasBounced(b) /\ IsActing(b)

(* It is sent what the former incarnation would have obeyed.                 *)
LateCommandIsRefused ==
    \E m \in messages : IsUp(m.to) /\ IsNewer(m.to, m) /\ ~IsForThisIncarnation(m.to, m)

(* A leader of before the election still acts for its old epoch.             *)
ZombieLeads == \E b \in Brokers : IsLeading(b) /\ replicas[b].leader_epoch < State.leader_epoch

(* It holds a record that the leader of now does not have, and drops it.     *)
UncommittedRecordIsDropped ==
    /\ budget["records"] < Limits["records"] /\ ~is_committed
    /\ \A b \in Brokers : ~Log(b) /\ b \notin lost_in_crash

(* The last replica leads by an election that says so, alone, and the others *)
(* come back into its ISR.                                                   *)
LastReplicaLeads == is_loss_told /\ Cardinality(State.isr) = 1 /\ \E b \in Brokers : IsActing(b)
LastReplicaIsJoined == is_loss_told /\ MemberIds(State.isr) = Brokers

(* Nothing leads, while no broker is back that could.                        *)
NothingLeads == State.leader = NoBroker /\ LastReplica = "elect"

(* All are back, and there is no leader until a person decides.              *)
PartitionWaits ==
    /\ State.leader = NoBroker
    /\ \A b \in Brokers : replicas[b].role = "follower" /\ replicas[b].leader = NoBroker

(* A broker lives through the end of its session, under another epoch.       *)
LeaderRegistersAgain ==
    \E b \in Brokers : HasBounced(b) /\ replicas[b].broker_epoch = incarnations[b]
        /\ IsLeading(b) /\ replicas[b].leader_epoch = 0

(* A broker had the code of the next level, has that of before, and obeys.   *)
IsBackWithOldCode ==
    /\ budget["downgrades"] < Limits["downgrades"]
    /\ ElectionObeyedByAll
    /\ \A b \in Brokers : replicas[b].level = 3

(* The upgrade is over: a command with the new stamp alone is obeyed by all. *)
UpgradeIsOver ==
    /\ controller.level = 4 /\ budget["upgrades"] < Limits["upgrades"]
    /\ \E m \in messages : m.max_broker_epoch # NoBrokerEpoch
    /\ ElectionObeyedByAll
=============================================================================
