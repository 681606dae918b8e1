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
    Limits,         \* how often each bounded thing may happen
    mutants         \* rules that are broken on purpose; {} is the protocol

VARIABLES
    znodes,         \* registrations, and the state of the partition
    zxid,           \* of the last registration; no other transaction needs a number
    controller,     \* what the controller knows
    replicas,       \* per broker its incarnation, its role and its log
    messages,       \* commands in flight: any may be late, overtaken or never arrive
    is_committed,   \* history: the record was committed once
    lost_in_crash,  \* history: the brokers that lost it in a crash of their own
    budget,         \* what is left of Limits
    breaches        \* history: acts that no rule allows

history == <<is_committed, lost_in_crash, breaches>>
vars == <<znodes, zxid, controller, replicas, messages, budget, history>>

FencingMutants ==
    {"compare_broker_ids_only", "broker_epochs_in_memory", "remember_end_offset_over_bounce",
     "commands_without_broker_epoch", "max_epoch_from_separate_reads", "stamp_epoch_when_sent",
     "accept_missing_epoch", "upgrade_in_one_step", "started_before_failed",
     "unrecorded_last_replica", "refuse_larger_broker_epoch"}

ASSUME mutants \subseteq FencingMutants
ASSUME Level \in {2, 3, 4}
ASSUME LastReplica \in {"elect", "wait"}

Has(mutant) == mutant \in mutants

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

(* The ISR names incarnations. Level 2 and the mutants keep ids alone, as V3 *)
(* does.                                                                     *)
HasIdsOnly ==
    Level = 2 \/ Has("compare_broker_ids_only") \/ Has("broker_epochs_in_memory")
Member(b, epoch) ==
    [broker |-> b, broker_epoch |-> IF HasIdsOnly THEN NoBrokerEpoch ELSE epoch]
MemberIds(isr) == {member.broker : member \in isr}

(* Does the controller, when these are the registrations, take this member   *)
(* for the one that joined the ISR? With ids alone it can compare with what  *)
(* it remembers (KIP-380) or not at all.                                     *)
IsCurrent(member, epochs) ==
    CASE Has("compare_broker_ids_only") -> epochs[member.broker] # 0
      [] Level = 2 \/ Has("broker_epochs_in_memory") ->
            /\ epochs[member.broker] # 0
            /\ epochs[member.broker] = controller.view[member.broker]
            /\ member.broker \notin controller.bounced
      [] OTHER -> epochs[member.broker] = member.broker_epoch

StoppedReplica(r) ==
    [r EXCEPT !.role = "down", !.broker_epoch = NoBrokerEpoch, !.leader = NoBroker,
              !.leader_epoch = NoEpoch, !.isr = {}, !.znode_version = NoEpoch, !.caught_up = {}]

FirstLeader == CHOOSE b \in InitialIsr : \A other \in InitialIsr : b <= other
FirstIsr == {Member(b, b) : b \in InitialIsr}

(* Every broker is registered, in order of ids, and has obeyed the first     *)
(* command; the controller has not yet noticed that it was received.         *)
Init ==
    /\ znodes = [path \in Paths |->
                    IF path = StatePath
                    THEN [data |-> [leader |-> FirstLeader, leader_epoch |-> 0, isr |-> FirstIsr,
                                    is_loss_possible |-> FALSE],
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
                     level |-> Level]]
    /\ messages = {}
    /\ is_committed = FALSE
    /\ lost_in_crash = {}
    /\ budget = Limits
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
    /\ UNCHANGED <<znodes, zxid, controller, messages, is_committed, breaches>>

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
RegisterBroker(b) ==
    LET written == Multi(znodes, <<CreateOp(BrokerPath(b), <<>>, b)>>, zxid + 1)
        started == [replicas[b] EXCEPT !.role = "idle", !.leader_epoch = State.leader_epoch,
                                       !.znode_version = StateVersion]
    IN /\ written.ok
       /\ znodes' = written.tree
       /\ zxid' = zxid + 1
       /\ replicas' = [replicas EXCEPT
                        ![b] = [(IF replicas[b].role = "down" THEN started ELSE replicas[b])
                                    EXCEPT !.broker_epoch = zxid + 1]]
       /\ UNCHANGED <<controller, messages, budget, history>>

-----------------------------------------------------------------------------
(* The controller *)

(* The controller reads the registrations. In one step, because the children *)
(* and all of their czxids have to be one snapshot: the wrong way, broker by *)
(* broker, leaves an old epoch beside a newer one. Handling a new broker     *)
(* before a bounced one has the same effect.                                 *)
Looks ==
    IF Has("max_epoch_from_separate_reads")
    THEN {[controller.view EXCEPT ![b] = Registrations[b]] : b \in Brokers}
    ELSE {Registrations}

(* A broker with another epoch than before was restarted, or at least was    *)
(* gone: a failure and then a start (BEP-006). Comparing epochs shows this   *)
(* even if the list of ids is as it was. An arrival is sent the present      *)
(* state.                                                                    *)
DetectBrokerChange ==
    /\ \E look \in Looks :
          LET differing == {b \in Brokers : look[b] # controller.view[b]}
              has_ids_only == Has("compare_broker_ids_only")
              arrived == {b \in differing : look[b] # 0 /\ (controller.view[b] = 0 \/ ~has_ids_only)}
          IN /\ differing # {}
             /\ controller' = [controller EXCEPT
                                !.view = look,
                                !.bounced = IF HasIdsOnly /\ ~has_ids_only
                                            THEN @ \cup differing ELSE @,
                                !.is_send_due = @ \/ arrived # {}]
    /\ UNCHANGED <<znodes, zxid, replicas, messages, budget, history>>

CurrentMembers == {member \in State.isr : IsCurrent(member, controller.view)}

IsAffected ==
    \/ State.isr # CurrentMembers
    \/ State.leader \notin MemberIds(CurrentMembers)

Publish(state) ==
    LET written == Multi(znodes, <<SetDataOp(StatePath, state, StateVersion)>>, zxid)
    IN /\ znodes' = written.tree
       /\ controller' = [controller EXCEPT !.is_send_due = TRUE, !.bounced = {}]
       /\ UNCHANGED <<zxid, replicas, messages, budget, history>>

(* The policy for the last replica. When every incarnation of the ISR is     *)
(* gone, it is not known whether the committed records are still there.      *)
(* "elect": a broker of the ISR that is back leads alone, and the state says *)
(* for ever that records may be lost, since otherwise a partition of one     *)
(* replica ends with its first restart. "wait": there is no leader, the ISR  *)
(* is kept (FAIL-003), and a person decides. A third way, silence, is the    *)
(* mutant.                                                                   *)
ElectLastReplica ==
    LET returned == MemberIds(State.isr) \cap Registered(controller.view)
    IN IF LastReplica = "elect" /\ returned # {}
       THEN \E b \in returned :
              Publish([leader |-> b, leader_epoch |-> State.leader_epoch + 1,
                       isr |-> {Member(b, controller.view[b])},
                       is_loss_possible |-> ~Has("unrecorded_last_replica")])
       ELSE /\ State.leader # NoBroker
            /\ Publish([State EXCEPT !.leader = NoBroker, !.leader_epoch = @ + 1])

(* A live leader stays, else any member of the ISR that is still the same    *)
(* incarnation leads; the others are no longer members.                      *)
ElectLeader ==
    LET ids == MemberIds(CurrentMembers)
    IN /\ IsAffected
       /\ IF ids = {} THEN ElectLastReplica
          ELSE \E b \in (IF State.leader \in ids THEN {State.leader} ELSE ids) :
                 Publish([State EXCEPT !.leader = b, !.leader_epoch = @ + 1,
                                       !.isr = CurrentMembers])

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
SendLeaderAndIsr ==
    /\ controller.is_send_due
    /\ ~IsAffected \/ State.leader = NoBroker \/ Has("started_before_failed")
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
StampFor(b, m) ==
    LET largest == IF Has("stamp_epoch_when_sent") THEN Largest(controller.view)
                   ELSE m.max_broker_epoch
    IN IF replicas[b].level = 4 /\ m.max_broker_epoch # NoBrokerEpoch THEN largest
       ELSE m.broker_epoch

IsUnderstood(b, m) == replicas[b].level = 2 \/ StampFor(b, m) # NoBrokerEpoch

(* A smaller epoch than the broker's own is another incarnation's (BEP-002,  *)
(* BEP-003); a larger one is that of another broker, or one that this broker *)
(* has yet to hear of. A command without epoch could be of any incarnation.  *)
IsForThisIncarnation(b, m) ==
    \/ Has("commands_without_broker_epoch") \/ replicas[b].level = 2
    \/ IF ~IsUnderstood(b, m) THEN Has("accept_missing_epoch")
       ELSE /\ StampFor(b, m) >= replicas[b].broker_epoch
            /\ Has("refuse_larger_broker_epoch") => StampFor(b, m) = replicas[b].broker_epoch

IsNewer(b, m) ==
    \/ m.leader_epoch > replicas[b].leader_epoch
    \/ /\ replicas[b].role = "idle"
       /\ m.leader_epoch = replicas[b].leader_epoch
       /\ m.znode_version >= replicas[b].znode_version

(* What is obeyed is consumed, and with it what no broker will ever obey:    *)
(* the older commands to the same broker. All others stay in flight.         *)
IsStillOfUse(other, m) ==
    other # m /\ (other.to = m.to => other.leader_epoch >= m.leader_epoch)

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
    /\ Breach("StaleIncarnationHarmless", b, m.built_for # replicas[b].broker_epoch)
    /\ UNCHANGED <<znodes, zxid, controller, is_committed, lost_in_crash, budget>>

(* With each leader epoch the leader forgets how far its followers are; the  *)
(* mutant remembers it as long as it leads.                                  *)
BecomeLeader(b) ==
    \E m \in messages :
        /\ m.leader = b
        /\ Obey(b, m, "leader", m.isr,
                IF Has("remember_end_offset_over_bounce") THEN replicas[b].caught_up ELSE {})

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

(* The leader learns from a fetch that this incarnation is at its log end.   *)
ServeFetch(l, f) ==
    LET seen == [broker |-> f, broker_epoch |-> replicas[f].broker_epoch]
    IN /\ IsFetching(f, l)
       /\ Log(f) = Log(l)
       /\ seen \notin replicas[l].caught_up
       /\ SetReplicas([replicas EXCEPT ![l].caught_up = @ \cup {seen}])
       /\ UNCHANGED budget

HasReached(l, member) ==
    \/ member.broker = l
    \/ member \in replicas[l].caught_up
    \/ /\ HasIdsOnly \/ Has("remember_end_offset_over_bounce")
       /\ member.broker \in MemberIds(replicas[l].caught_up)

(* The record is committed when all incarnations of the ISR have it.         *)
AdvanceHighWatermark(l) ==
    /\ IsLeading(l)
    /\ Log(l)
    /\ ~is_committed
    /\ \A member \in replicas[l].isr : HasReached(l, member)
    /\ is_committed' = TRUE
    /\ UNCHANGED <<znodes, zxid, controller, replicas, messages, budget, lost_in_crash, breaches>>

(* An incarnation at the log end joins, under the epoch of its fetch; if it  *)
(* has bounced since, the controller will see that. The mutant knows ids     *)
(* only and writes the epoch that is registered; what it remembers it uses   *)
(* once, so that there is an end to it. Asking and writing are one step, as  *)
(* `LeaderAndIsr` has both.                                                  *)
ExpandIsr(l, f) ==
    LET joining == {member \in {Member(f, e) : e \in 1 .. zxid} :
                        /\ HasReached(l, member)
                        /\ Has("remember_end_offset_over_bounce")
                            => member.broker_epoch = Registrations[f]}
    IN /\ IsLeading(l)
       /\ f \notin MemberIds(replicas[l].isr)
       /\ \E member \in joining :
            LET isr == replicas[l].isr \cup {member}
                state == [State EXCEPT !.isr = isr]
                op == SetDataOp(StatePath, state, replicas[l].znode_version)
                written == Multi(znodes, <<op>>, zxid)
            IN /\ written.ok
               /\ znodes' = written.tree
               /\ replicas' = [replicas EXCEPT
                                ![l].isr = isr, ![l].znode_version = @ + 1,
                                ![l].caught_up = IF Has("remember_end_offset_over_bounce")
                                                 THEN {seen \in @ : seen.broker # f} ELSE @]
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

(* Second pass: the controller sends the new field in place of the old one.  *)
(* Not before every broker understands it.                                   *)
RaiseInterBrokerProtocol ==
    /\ controller.level = 3
    /\ \/ \A b \in Brokers : replicas[b].level = 4
       \/ \E b \in Brokers : replicas[b].level = 4 /\
            (Has("upgrade_in_one_step") \/ Has("accept_missing_epoch"))
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
    \/ RaiseInterBrokerProtocol

-----------------------------------------------------------------------------
IsDue == is_committed /\ ~State.is_loss_possible

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
\* @req BEP-006
LeaderComplete ==
    IsDue => \A b \in Brokers :
                (/\ IsLeading(b)
                 /\ State.leader = b
                 /\ State.leader_epoch = replicas[b].leader_epoch) => Log(b)

(* The committed record is gone everywhere only if each broker of the ISR    *)
(* lost it in a crash of its own, never because one was told to drop it.     *)
\* @req BEP-006
NotGloballyLost ==
    (IsDue /\ \A b \in Brokers : ~Log(b)) => MemberIds(State.isr) \subseteq lost_in_crash

(* No step of an upgrade leaves a broker with commands that it cannot read.  *)
\* @req UMD-003
CommandsUnderstood ==
    \A m \in messages : m.built_for = replicas[m.to].broker_epoch => IsUnderstood(m.to, m)

(* No broker refuses, for its epoch, a command that was built for it.        *)
\* @req BEP-002
\* @req BEP-003
FreshCommandsPass ==
    \A m \in messages :
        (m.built_for = replicas[m.to].broker_epoch /\ IsUnderstood(m.to, m))
            => IsForThisIncarnation(m.to, m)
=============================================================================
