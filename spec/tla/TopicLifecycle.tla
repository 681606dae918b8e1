--------------------------- MODULE TopicLifecycle ---------------------------
(* One topic that is created, deleted and created again under its old name:  *)
(* what survives of an incarnation in znodes, directories, commands, and in  *)
(* the memory of controllers. One partition, assigned to all brokers.        *)
(*                                                                           *)
(* An incarnation is the czxid of the topic znode. A write cannot check a    *)
(* czxid, so the multi that creates a topic creates a znode named after a    *)
(* fresh topic id as well, and whoever writes about the topic checks that in *)
(* the same multi. Here the id and the czxid are one number.                 *)
(*                                                                           *)
(* Left out: elections, and so leader epochs; fencing by controller epoch at *)
(* brokers, on which nothing here rests; /controller itself: the one that    *)
(* raises the epoch is the controller. A log either holds the one record of  *)
(* an incarnation or not.                                                    *)
EXTENDS TopicState

-----------------------------------------------------------------------------
(* Administrators *)

(* The topic and its id in one multi, at a new czxid.                        *)
CreateTopic ==
    LET incarnation == Created + 1
        written == Apply(<<CreateOp(TopicPath, <<>>, NoSession),
                           CreateOp(TopicIdPaths[incarnation], <<>>, NoSession)>>, incarnation)
    IN /\ Spend("topics")
       /\ written.ok
       /\ znodes' = written.tree
       /\ UNCHANGED <<controllers, replicas, messages, committed, obeyed>>

DeletionOfState ==
    IF Exists(znodes, StatePath) THEN <<DeleteOp(StatePath, AnyVersion)>> ELSE <<>>

(* The topic with all that is under it, in one multi: where a controller     *)
(* adds a child at the same time, one of the two is refused and looks again. *)
DeleteTopic ==
    LET ops == <<DeleteOp(TopicPath, AnyVersion),
                 DeleteOp(TopicIdPaths[CurrentIncarnation], AnyVersion)>>
        written == Apply(ops \o DeletionOfState, 0)
    IN /\ Exists(znodes, TopicPath)
       /\ written.ok
       /\ znodes' = written.tree
       /\ UNCHANGED <<controllers, replicas, messages, committed, budget, obeyed>>

-----------------------------------------------------------------------------
(* Controllers *)

(* The next epoch, in one multi with /controller, which is left out. The     *)
(* session of the one before has ended, whether its process died or only     *)
(* paused: a live one is deposed only as a fault. The new one remembers      *)
(* nothing: it reads the topic, and has to tell every broker what exists.    *)
ElectController(c) ==
    /\ ~IsActive(c)
    /\ IF \E other \in Controllers : IsActive(other) /\ ~IsDeposed(other)
       THEN Spend("controller_expiries") ELSE UNCHANGED budget
    /\ znodes' = [znodes EXCEPT ![ControllerEpochPath].version = @ + 1]
    /\ controllers' = [controllers EXCEPT
                        ![c] = [StandingController EXCEPT
                                    !.controller_epoch = CurrentControllerEpoch + 1,
                                    !.known = CurrentIncarnation,
                                    !.is_initialising = Exists(znodes, TopicPath),
                                    !.is_init_due = TRUE]]
    /\ UNCHANGED <<replicas, messages, committed, obeyed>>

(* The process dies with all it remembers, between any two of its steps.     *)
CrashController(c) ==
    /\ IsActive(c)
    /\ Spend("controller_crashes")
    /\ controllers' = [controllers EXCEPT ![c] = StandingController]
    /\ UNCHANGED <<znodes, replicas, messages, committed, obeyed>>

(* A deposed controller notices at last and forgets everything (CTL-008).    *)
ResignController(c) ==
    /\ IsActive(c)
    /\ IsDeposed(c)
    /\ controllers' = [controllers EXCEPT ![c] = StandingController]
    /\ UNCHANGED <<znodes, replicas, messages, committed, budget, obeyed>>

(* Whether a topic is another one than the controller remembers.             *)
IsAnother(current, known) == current # known

(* The watch of the topics fired; the controller compares what it remembers  *)
(* with what is there now, so that any number of changes is seen as one. An  *)
(* incarnation that is gone is to be stopped everywhere, a new one wants a   *)
(* leader (V3 B).                                                            *)
DetectTopicChange(c) ==
    LET known == controllers[c].known
        current == CurrentIncarnation
    IN /\ IsActive(c)
       /\ IsAnother(current, known)
       /\ controllers' = [controllers EXCEPT
                            ![c].known = current,
                            ![c].is_initialising = current # NoIncarnation,
                            ![c].to_stop = @ \cup ({known} \ {NoIncarnation})]
       /\ UNCHANGED <<znodes, replicas, messages, committed, budget, obeyed>>

Decided(c, decision) == [controllers EXCEPT ![c].decision = <<decision>>]

(* A partition that has a state is initialised, by whichever controller.     *)
IsUninitialised == ~Exists(znodes, StatePath)

(* A controller that initialised an incarnation which it does not know would *)
(* forget to stop the one that it knows.                                     *)
KnowsIncarnation(c) == CurrentIncarnation = controllers[c].known

(* First leader and ISR of a partition without a state (TOP-001, CTL-011).   *)
InitLeader(c) ==
    /\ IsActive(c)
    /\ controllers[c].decision = <<>>
    /\ controllers[c].is_initialising
    /\ Exists(znodes, TopicPath)
    /\ KnowsIncarnation(c)
    /\ IsUninitialised
    /\ \E leader \in Brokers :
          controllers' = [controllers EXCEPT
                            ![c].is_initialising = FALSE,
                            ![c].decision = <<[write |-> "state", leader |-> leader,
                                               incarnation |-> CurrentIncarnation]>>]
    /\ UNCHANGED <<znodes, replicas, messages, committed, budget, obeyed>>

(* The controller is about to write the topic's assignment, as at the end of *)
(* a reassignment (V3 F.3.2.5). What it writes does not matter here, only    *)
(* that the topic may be gone by then.                                       *)
AdvanceReassignment(c) ==
    /\ IsActive(c)
    /\ controllers[c].decision = <<>>
    /\ Exists(znodes, TopicPath)
    /\ Spend("reassignments")
    /\ controllers' = Decided(c, [write |-> "assignment", incarnation |-> CurrentIncarnation,
                                  leader |-> NoBroker])
    /\ UNCHANGED <<znodes, replicas, messages, committed, obeyed>>

(* A first state is created, an assignment is changed: neither is written    *)
(* where the other is due.                                                   *)
FirstStateWrite(state) == CreateOp(StatePath, state, NoSession)
AssignmentWrite == SetDataOp(TopicPath, <<>>, AnyVersion)

DecisionWrite(decision) ==
    IF decision.write = "state"
    THEN FirstStateWrite([leader |-> decision.leader, isr |-> Brokers])
    ELSE AssignmentWrite

IdCheck(incarnation) == <<CheckOp(TopicIdPaths[incarnation], AnyVersion)>>
DecisionCheck(decision) == IdCheck(decision.incarnation)

(* One multi: the controller epoch, the topic's id, and the write. Refused,  *)
(* the decision is dropped; what changed meanwhile is detected by itself.    *)
PublishDecision(c) ==
    /\ controllers[c].decision # <<>>
    /\ LET decision == controllers[c].decision[1]
           write == DecisionWrite(decision)
           fence == <<CheckOp(ControllerEpochPath, controllers[c].controller_epoch)>>
           written == Apply(fence \o DecisionCheck(decision) \o <<write>>, Limits["topics"] + 1)
       IN znodes' = written.tree
    /\ controllers' = [controllers EXCEPT ![c].decision = <<>>]
    /\ UNCHANGED <<replicas, messages, committed, budget, obeyed>>

(* The controller sends the present state until every broker has it. What it *)
(* read earlier is never sent: that is a command which is late.              *)
SendLeaderAndIsr(c) ==
    LET news == {[type |-> "leader_and_isr", to |-> b, incarnation |-> CurrentIncarnation,
                  leader |-> State.leader, isr |-> State.isr,
                  znode_version |-> znodes[StatePath].version] :
                    b \in {b \in Brokers :
                            \/ replicas[b].incarnation # CurrentIncarnation
                            \/ replicas[b].znode_version < znodes[StatePath].version}}
    IN /\ IsActive(c)
       /\ ~IsDeposed(c)
       /\ Exists(znodes, StatePath)
       /\ ~(news \subseteq messages)
       /\ messages' = messages \cup news
       /\ UNCHANGED <<znodes, controllers, replicas, committed, budget, obeyed>>

StopReceivers == Brokers

(* To every broker, for each incarnation that is gone (TOP-002).             *)
SendStopReplica(c) ==
    /\ controllers[c].to_stop # {}
    /\ messages' = messages \cup
            {[type |-> "stop_replica", to |-> b, incarnation |-> incarnation] :
                b \in StopReceivers, incarnation \in controllers[c].to_stop}
    /\ controllers' = [controllers EXCEPT ![c].to_stop = {}]
    /\ UNCHANGED <<znodes, replicas, committed, budget, obeyed>>

(* A new controller does not know which deletions its predecessor saw and    *)
(* did not send. It sends the complete list of what exists (INIT, CMD-007),  *)
(* with the transaction at which it read that: an omission says nothing      *)
(* about what was created later.                                             *)
SendInit(c) ==
    /\ controllers[c].is_init_due
    /\ messages' = messages \cup
            {[type |-> "init", to |-> b, incarnation |-> CurrentIncarnation, zxid |-> Created] :
                b \in Brokers}
    /\ controllers' = [controllers EXCEPT ![c].is_init_due = FALSE]
    /\ UNCHANGED <<znodes, replicas, committed, budget, obeyed>>

-----------------------------------------------------------------------------
(* Brokers *)

IsKnownToBeGone(b, incarnation) == incarnation < replicas[b].oldest

(* A command about an incarnation that the broker knows to be gone is        *)
(* refused, and so is one that is not newer than its replica.                *)
IsObeyed(b, m) ==
    /\ m.to = b
    /\ replicas[b].is_up
    /\ m.type = "leader_and_isr"
    /\ ~IsKnownToBeGone(b, m.incarnation)
    /\ \/ m.incarnation > replicas[b].incarnation
       \/ m.incarnation = replicas[b].incarnation /\ m.znode_version > replicas[b].znode_version

(* A directory of an older incarnation is dropped and started anew.          *)
KeepsDirectory(b, incarnation) == replicas[b].incarnation = incarnation

OnceObeyed(b, m, isr) ==
    [is_up |-> TRUE, leader |-> m.leader, incarnation |-> m.incarnation,
     record |-> IF KeepsDirectory(b, m.incarnation) THEN replicas[b].record ELSE NoIncarnation,
     isr |-> isr, znode_version |-> m.znode_version,
     oldest |-> IF m.incarnation > replicas[b].oldest THEN m.incarnation ELSE replicas[b].oldest]

Obey(b, m, isr) ==
    /\ messages' = messages \ {m}
    /\ replicas' = [replicas EXCEPT ![b] = OnceObeyed(b, m, isr)]
    /\ obeyed' = [obeyed EXCEPT ![b] = m.incarnation]
    /\ UNCHANGED <<znodes, controllers, committed, budget>>

(* The replica leads this incarnation, with ISR and version of the command.  *)
BecomeLeader(b) == \E m \in messages : IsObeyed(b, m) /\ m.leader = b /\ Obey(b, m, m.isr)

(* The replica follows, and starts with an empty directory if it has none.   *)
BecomeFollower(b) == \E m \in messages : IsObeyed(b, m) /\ m.leader # b /\ Obey(b, m, {})

IsGone(b, gone) == replicas[b].incarnation \in gone

(* What is left on `b` when its directory goes, if it is one of those that   *)
(* are `gone`, and it has learnt which incarnation is the oldest possible.   *)
Without(b, gone, oldest) ==
    LET kept == [replicas[b] EXCEPT !.oldest = IF oldest > @ THEN oldest ELSE @]
    IN IF IsGone(b, gone) THEN [NoReplica EXCEPT !.oldest = kept.oldest] ELSE kept

(* The incarnations that a stop is about, and the oldest that may be there   *)
(* after it.                                                                 *)
Stopped(incarnation) == 1 .. incarnation
OldestOnceStopped(incarnation) == incarnation + 1

(* The broker deletes the directory of that incarnation and of older ones,   *)
(* and no other.                                                             *)
StopReplica(b) ==
    \E m \in messages :
        LET gone == Stopped(m.incarnation)
            oldest == OldestOnceStopped(m.incarnation)
        IN /\ m.to = b
           /\ m.type = "stop_replica"
           /\ replicas[b].is_up
           /\ messages' = messages \ {m}
           /\ replicas' = [replicas EXCEPT ![b] = Without(b, gone, oldest)]
           /\ obeyed' = [obeyed EXCEPT ![b] = IF @ \in gone THEN NoIncarnation ELSE @]
           /\ UNCHANGED <<znodes, controllers, committed, budget>>

(* What a list that was read at `zxid` can speak of.                         *)
CreatedUntil(zxid) == 1 .. zxid

(* The broker deletes what the list omits, if that is older than the list.   *)
ObeyInit(b) ==
    \E m \in messages :
        LET gone == CreatedUntil(m.zxid) \ {m.incarnation}
            oldest == IF m.incarnation = NoIncarnation THEN m.zxid + 1 ELSE m.incarnation
        IN /\ m.to = b
           /\ m.type = "init"
           /\ replicas[b].is_up
           /\ messages' = messages \ {m}
           /\ replicas' = [replicas EXCEPT ![b] = Without(b, gone, oldest)]
           /\ obeyed' = [obeyed EXCEPT ![b] = IF @ \in gone THEN NoIncarnation ELSE @]
           /\ UNCHANGED <<znodes, controllers, committed, budget>>

(* The members that a leader may drop.                                       *)
Dispensable(b) == replicas[b].isr \ {b}

(* The leader drops a member from the ISR by a conditional write, behind a   *)
(* check of the topic's id. One step: the write is refused or it succeeds,   *)
(* and a refused one changes nothing here. V3 trusts the version alone.      *)
ShrinkIsr(b, f) ==
    LET isr == replicas[b].isr \ {f}
        written == Apply(IdCheck(replicas[b].incarnation)
                            \o <<SetDataOp(StatePath, [leader |-> b, isr |-> isr],
                                           replicas[b].znode_version)>>, 0)
    IN /\ IsLeading(b)
       /\ f \in Dispensable(b)
       /\ written.ok
       /\ Spend("isr_changes")
       /\ znodes' = written.tree
       /\ replicas' = [replicas EXCEPT ![b].isr = isr, ![b].znode_version = @ + 1]
       /\ UNCHANGED <<controllers, messages, committed, obeyed>>

(* A client's record, the only one of this incarnation.                      *)
LeaderAppend(b) ==
    /\ IsLeading(b)
    /\ replicas[b].record = NoIncarnation
    /\ Spend("records")
    /\ replicas' = [replicas EXCEPT ![b].record = replicas[b].incarnation]
    /\ UNCHANGED <<znodes, controllers, messages, committed, obeyed>>

(* A fetch and its answer in one step; both name the incarnation.            *)
FollowerAppend(b) ==
    LET leader == replicas[b].leader
    IN /\ replicas[b].is_up
       /\ leader \notin {b, NoBroker}
       /\ IsLeading(leader)
       /\ replicas[leader].incarnation = replicas[b].incarnation
       /\ replicas[leader].record # replicas[b].record
       /\ replicas' = [replicas EXCEPT ![b].record = replicas[leader].record]
       /\ UNCHANGED <<znodes, controllers, messages, committed, budget, obeyed>>

HasRecord(b, incarnation) ==
    replicas[b].incarnation = incarnation /\ replicas[b].record = incarnation

(* All of the ISR that the leader knows have it: the record is committed.    *)
AdvanceHighWatermark(b) ==
    /\ IsLeading(b)
    /\ replicas[b].incarnation \notin committed
    /\ \A f \in replicas[b].isr \cup {b} : HasRecord(f, replicas[b].incarnation)
    /\ committed' = committed \cup {replicas[b].incarnation}
    /\ UNCHANGED <<znodes, controllers, replicas, messages, budget, obeyed>>

-----------------------------------------------------------------------------
(* What the world does *)

(* The process stops. Its directory stays.                                   *)
CrashBroker(b) ==
    /\ replicas[b].is_up
    /\ Spend("crashes")
    /\ replicas' = [replicas EXCEPT ![b].is_up = FALSE, ![b].leader = NoBroker, ![b].isr = {},
                                    ![b].znode_version = NoVersion, ![b].oldest = 1]
    /\ obeyed' = [obeyed EXCEPT ![b] = NoIncarnation]
    /\ UNCHANGED <<znodes, controllers, messages, committed>>

(* A broker recognises a directory by its incarnation.                       *)
IsLeftOver(b) == replicas[b].incarnation # CurrentIncarnation

(* The broker reads what exists, deletes what does not any more (V3 E.4),    *)
(* and waits for a command.                                                  *)
RestartBroker(b) ==
    LET oldest == IF CurrentIncarnation = NoIncarnation THEN Created + 1 ELSE CurrentIncarnation
    IN /\ ~replicas[b].is_up
       /\ replicas' = [replicas EXCEPT
                        ![b] = IF IsLeftOver(b) THEN [NoReplica EXCEPT !.oldest = oldest]
                               ELSE [@ EXCEPT !.is_up = TRUE, !.oldest = oldest]]
       /\ UNCHANGED <<znodes, controllers, messages, committed, budget, obeyed>>

(* A command to a process that does not run is lost.                         *)
LoseMessage ==
    /\ \E m \in messages : ~replicas[m.to].is_up /\ messages' = messages \ {m}
    /\ UNCHANGED <<znodes, controllers, replicas, committed, budget, obeyed>>

-----------------------------------------------------------------------------
Next ==
    \/ CreateTopic
    \/ DeleteTopic
    \/ \E c \in Controllers : ElectController(c)
    \/ \E c \in Controllers : CrashController(c)
    \/ \E c \in Controllers : ResignController(c)
    \/ \E c \in Controllers : DetectTopicChange(c)
    \/ \E c \in Controllers : InitLeader(c)
    \/ \E c \in Controllers : AdvanceReassignment(c)
    \/ \E c \in Controllers : PublishDecision(c)
    \/ \E c \in Controllers : SendLeaderAndIsr(c)
    \/ \E c \in Controllers : SendStopReplica(c)
    \/ \E c \in Controllers : SendInit(c)
    \/ \E b \in Brokers : BecomeLeader(b)
    \/ \E b \in Brokers : BecomeFollower(b)
    \/ \E b \in Brokers : StopReplica(b)
    \/ \E b \in Brokers : ObeyInit(b)
    \/ \E b, f \in Brokers : ShrinkIsr(b, f)
    \/ \E b \in Brokers : LeaderAppend(b)
    \/ \E b \in Brokers : FollowerAppend(b)
    \/ \E b \in Brokers : AdvanceHighWatermark(b)
    \/ \E b \in Brokers : CrashBroker(b)
    \/ \E b \in Brokers : RestartBroker(b)
    \/ LoseMessage

(* What mends things goes on while it can. Faults, administrators, clients   *)
(* and changes of the ISR need not happen. No such step undoes another, so   *)
(* that one condition for nearly all of them is enough; a broker that is     *)
(* down could lose commands for ever, and so has one of its own.             *)
Heal ==
    \/ \E c \in Controllers :
        \/ ElectController(c) /\ UNCHANGED budget
        \/ ResignController(c)
        \/ DetectTopicChange(c)
        \/ InitLeader(c)
        \/ PublishDecision(c)
        \/ SendLeaderAndIsr(c)
        \/ SendStopReplica(c)
        \/ SendInit(c)
    \/ \E b \in Brokers :
        \/ BecomeLeader(b)
        \/ BecomeFollower(b)
        \/ StopReplica(b)
        \/ ObeyInit(b)

Spec == Init /\ [][Next]_vars /\ WF_vars(Heal) /\ WF_vars(\E b \in Brokers : RestartBroker(b))

-----------------------------------------------------------------------------
(* No broker loses the directory of an incarnation that exists, nor what is  *)
(* in it.                                                                    *)
\* @req CMD-008
\* @req TOP-003
DeleteOnlyIfUnassigned ==
    [][\A b \in Brokers :
        Exists(znodes, TopicPath) /\ replicas[b].incarnation = znodes[TopicPath].czxid
            => /\ replicas'[b].incarnation = replicas[b].incarnation
               /\ replicas[b].record # NoIncarnation => replicas'[b].record = replicas[b].record
      ]_vars

(* A topic comes to be when an administrator creates it.                     *)
\* @req TOP-003
NoResurrection ==
    [][~Exists(znodes, TopicPath) /\ Exists(znodes', TopicPath)
        => budget'["topics"] = budget["topics"] - 1]_vars

(* There is no state without a topic.                                        *)
\* @req TOP-003
NoStateWithoutTopic == Exists(znodes, StatePath) => Exists(znodes, TopicPath)

(* No directory holds a record of another incarnation than its own, and none *)
(* is of another than the broker was told.                                   *)
\* @req START-004
NoStaleIncarnationServed ==
    \A b \in Brokers :
        /\ replicas[b].record \in {NoIncarnation, replicas[b].incarnation}
        /\ obeyed[b] \in {NoIncarnation, replicas[b].incarnation}

(* A leader changes the state only of the incarnation that it was told, and  *)
(* while it is named there.                                                  *)
\* @req ZK-003
OnlyAuthorisedWrites ==
    [][\A b \in Brokers :
        znodes'[StatePath] # znodes[StatePath] /\ replicas'[b] # replicas[b]
            => State.leader = b /\ obeyed[b] = CurrentIncarnation]_vars

(* All of the ISR hold what is committed in this incarnation.                *)
\* @req REPL-002
\* @req CTL-011
CommittedDurable ==
    (Exists(znodes, StatePath) /\ CurrentIncarnation \in committed) =>
        \A b \in State.isr :
            replicas[b].incarnation = CurrentIncarnation /\ replicas[b].record = CurrentIncarnation

(* In the end no broker keeps a directory of what is gone.                   *)
\* @req TOP-002
\* @req TOP-003
DeletionCompletes ==
    <>[](\A b \in Brokers : replicas[b].incarnation \in {NoIncarnation, CurrentIncarnation})

(* In the end a topic that exists has a leader.                              *)
\* @req TOP-001
TopicGetsLeader == <>[](Exists(znodes, TopicPath) => Exists(znodes, StatePath))

(* Versions of another incarnation are none that a leader may ask on. The    *)
(* state has no epochs: there are no elections.                              *)
AsStateZnode == INSTANCE StateZnode WITH
    BrokerOf <- LAMBDA b : b,
    state <- IF ~Exists(znodes, StatePath) THEN <<>>
             ELSE [leader |-> State.leader, leader_epoch |-> 0, isr |-> State.isr,
                   controller_epoch |-> 0],
    version <- znodes[StatePath].version,
    assigned <- IF Exists(znodes, TopicPath) THEN Brokers ELSE {},
    decided_on <- IF \E c \in Controllers : controllers[c].decision # <<>> /\ ~IsDeposed(c)
                  THEN {NoVersion} ELSE {},
    asked_on <- {replicas[b].znode_version :
                    b \in {b \in Brokers :
                            IsLeading(b) /\ replicas[b].incarnation = CurrentIncarnation}},
    controller_epoch <- 0,
    is_loss_told <- FALSE

(* A term ends before the next one begins, and a decision is written or      *)
(* forgotten before the next one is made: nothing is put in its place. One   *)
(* that is in office stays there, unless its process dies.                   *)
\* @req CTL-008
NothingIsReplaced ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        /\ now.controller_epoch # Standing =>
            \/ next.controller_epoch = now.controller_epoch
            \/ /\ next.controller_epoch = Standing
               /\ now.controller_epoch = CurrentControllerEpoch =>
                    budget'["controller_crashes"] < budget["controller_crashes"]
        /\ now.decision # <<>> => next.decision \in {now.decision, <<>>}]_vars

(* What a process knows ends with it, and what a controller knows with its   *)
(* term. Only a leader has an ISR.                                           *)
\* @req CTL-008
MemoryEnds ==
    /\ \A c \in Controllers : ~IsActive(c) => controllers[c] = StandingController
    /\ \A b \in Brokers : LET r == replicas[b] IN
        /\ ~r.is_up => r.leader = NoBroker /\ r.oldest = 1
        /\ r.leader = NoBroker =>
            r.isr = {} /\ r.znode_version = NoVersion /\ obeyed[b] = NoIncarnation
        /\ r.leader # NoBroker => obeyed[b] = r.incarnation /\ r.incarnation >= r.oldest
        /\ r.leader = b <=> r.isr # {}

(* A leader that knows the version of the state knows the state.             *)
\* @req ZK-003
VersionAgreement ==
    \A b \in Brokers :
        (/\ IsLeading(b)
         /\ replicas[b].incarnation = CurrentIncarnation
         /\ replicas[b].znode_version = znodes[StatePath].version) =>
            State.leader = b /\ State.isr = replicas[b].isr

(* What a bound allows changes something else than what is left of it.       *)
BoundedStepsHaveEffect ==
    [][budget' # budget => <<znodes, controllers, replicas>>' # <<znodes, controllers, replicas>>
      ]_vars

(* A new controller knows what exists, and has to tell it; later it knows    *)
(* what it read last. What it knew and finds gone is to be stopped, until    *)
(* every broker is sent that. A list or a stop is sent once by a controller. *)
\* @req TOP-002
\* @req CMD-007
WhatIsGoneIsStopped ==
    [][/\ \A m \in messages' \ messages :
            /\ m.type = "init" => \E c \in Controllers :
                controllers[c].is_init_due /\ ~controllers'[c].is_init_due
            /\ m.type = "stop_replica" => \E c \in Controllers :
                m.incarnation \in controllers[c].to_stop \ controllers'[c].to_stop
       /\ \A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
            \/ next.controller_epoch = Standing
            \/ /\ now.controller_epoch = Standing
               /\ next = [StandingController EXCEPT
                            !.controller_epoch = CurrentControllerEpoch + 1,
                            !.known = CurrentIncarnation, !.is_init_due = TRUE,
                            !.is_initialising = CurrentIncarnation # NoIncarnation]
            \/ /\ next.known \in {now.known, CurrentIncarnation}
               /\ next.known # now.known => now.known \in next.to_stop \cup {NoIncarnation}
               /\ next.is_init_due # now.is_init_due =>
                    \A b \in Brokers : \E m \in messages' : m.type = "init" /\ m.to = b
               /\ \A gone \in now.to_stop \ next.to_stop : \A b \in Brokers : \E m \in messages' :
                    m.type = "stop_replica" /\ m.to = b /\ m.incarnation = gone]_vars

(* A command tells what ZooKeeper holds when it is sent by the controller in *)
(* office, and no broker what it has done already; a stop is about a topic   *)
(* that is gone.                                                             *)
\* @req CMD-003
CommandsTellWhatIs ==
    [][\A m \in messages' \ messages :
        CASE m.type = "stop_replica" -> m.incarnation \notin {CurrentIncarnation, NoIncarnation}
          [] m.type = "init" -> m.incarnation = CurrentIncarnation /\ m.zxid = Created
          [] OTHER -> /\ \E c \in Controllers : controllers[c].controller_epoch = CurrentControllerEpoch
                      /\ m.incarnation = CurrentIncarnation
                      /\ m.leader = State.leader
                      /\ m.isr = State.isr
                      /\ m.znode_version = znodes[StatePath].version
                      /\ \/ replicas[m.to].incarnation # m.incarnation
                         \/ replicas[m.to].znode_version # m.znode_version]_vars

(* A command is gone when it is obeyed, which makes the replica what the     *)
(* command says; or when it comes to a process that does not run.            *)
\* @req CMD-002
\* @req CMD-008
CommandsAreObeyed ==
    [][\A m \in messages \ messages' : LET known == replicas[m.to] next == replicas'[m.to] IN
        IF ~known.is_up THEN next = known
        ELSE CASE m.type = "stop_replica" ->
                    next.incarnation \notin 1 .. m.incarnation /\ next.oldest > m.incarnation
               [] m.type = "init" ->
                    /\ next.incarnation \notin (1 .. m.zxid) \ {m.incarnation}
                    /\ m.incarnation # NoIncarnation => next.oldest >= m.incarnation
                    /\ m.incarnation = NoIncarnation => next.oldest > m.zxid
               [] OTHER ->
                    /\ next.leader = m.leader
                    /\ next.isr = (IF m.leader = m.to THEN m.isr ELSE {})
                    /\ next.incarnation = m.incarnation
                    /\ next.znode_version = m.znode_version
                    /\ known.incarnation = m.incarnation => known.znode_version < m.znode_version
      ]_vars

(* What a running broker has obeyed, and what it knows to be gone, it never  *)
(* takes back, and a record stays as long as its directory.                  *)
\* @req CMD-002
\* @req CMD-008
ObeyedStays ==
    [][\A b \in Brokers : LET known == replicas[b] next == replicas'[b] IN
        /\ known.is_up /\ next.is_up =>
            /\ next.oldest >= known.oldest
            /\ next.incarnation # known.incarnation =>
                known.incarnation < next.oldest /\ next.record = NoIncarnation
            /\ next.incarnation = known.incarnation => next.znode_version >= known.znode_version
        /\ next.incarnation = known.incarnation => next.record \in {known.record, next.incarnation}
        /\ next.record = NoIncarnation /\ known.record # NoIncarnation =>
            next.incarnation # known.incarnation]_vars

(* A record is the client's, of the broker that leads, or comes from that.   *)
\* @req REPL-001
RecordsComeFromLeaders ==
    [][\A b \in Brokers :
        replicas[b].record = NoIncarnation /\ replicas'[b].record # NoIncarnation => \E l \in Brokers :
            /\ replicas[b].is_up /\ replicas[b].leader = l
            /\ replicas[l].is_up /\ replicas[l].leader = l
            /\ l = b \/ (/\ replicas[l].incarnation = replicas[b].incarnation
                         /\ replicas[l].record = replicas'[b].record)]_vars

(* A broker that starts knows what is gone, of what there was until then.    *)
\* @req START-004
StartKnowsWhatIsGone ==
    [][\A b \in Brokers : ~replicas[b].is_up /\ replicas'[b].is_up =>
        \A incarnation \in 1 .. Created :
            replicas'[b].oldest <= incarnation <=> incarnation = CurrentIncarnation]_vars

(* The znode of the state changes as `StateZnode` says: it comes after the   *)
(* topic and goes with it.                                                   *)
\* @req CTL-011
\* @req TOP-002
RefinesStateZnode == AsStateZnode!Spec

-----------------------------------------------------------------------------
(* What must be possible *)

IsPast(what) == budget[what] < Limits[what]
IsServed ==
    Exists(znodes, StatePath) /\ IsLeading(State.leader) /\ \A b \in Brokers :
        replicas[b].incarnation = CurrentIncarnation /\ replicas[b].leader = State.leader

(* The topic is served, gone from every broker, and served again in another  *)
(* incarnation.                                                              *)
TopicIsServed == IsServed
TopicIsGone ==
    Created > 0 /\ ~Exists(znodes, TopicPath)
        /\ \A b \in Brokers : replicas[b].incarnation = NoIncarnation /\ replicas[b].oldest > Created
NothingIsLeftInFlight == TopicIsGone /\ messages = {}
TopicIsServedAgain == IsServed /\ CurrentIncarnation > 1

(* Two changes are seen as one: deleted and created again.                   *)
ChangesAreSeenAsOne ==
    \E c \in Controllers : IsActive(c) /\ CurrentIncarnation > 1 /\ controllers[c].known > 0
        /\ controllers[c].known < CurrentIncarnation

(* The record of an incarnation is committed by all, or by the leader that   *)
(* is left in the ISR.                                                       *)
RecordIsReplicated == \E one \in committed : \A b \in Brokers : HasRecord(b, one)
LeaderCommitsAlone ==
    Exists(znodes, StatePath) /\ CurrentIncarnation \in committed /\ State.isr = {State.leader}
        /\ \E b \in Brokers : replicas[b].record = NoIncarnation
RecordOfSecondIncarnation == CurrentIncarnation > 1 /\ CurrentIncarnation \in committed
OldRecordIsGone ==
    committed # {} /\ CurrentIncarnation \notin committed
        /\ \E b \in Brokers : replicas[b].incarnation = CurrentIncarnation /\ CurrentIncarnation > 1

(* A decision about an incarnation that is gone is still to be written.      *)
DecisionIsLate ==
    \E c \in Controllers : controllers[c].decision # <<>>
        /\ controllers[c].decision[1].incarnation # CurrentIncarnation
AssignmentIsWritten == Exists(znodes, TopicPath) /\ znodes[TopicPath].version > 0

(* A successor initialises the topic; the deposed controller has a decision  *)
(* left.                                                                     *)
SuccessorInitialises == CurrentControllerEpoch > 1 /\ IsServed
ZombieDecides == \E c \in Controllers : IsDeposed(c) /\ controllers[c].decision # <<>>

(* One that sees that it is deposed is a candidate again.                    *)
DeposedControllerResigns ==
    /\ CurrentControllerEpoch > 1
    /\ \E c \in Controllers : IsActive(c)
    /\ \A c \in Controllers : IsActive(c) => ~IsDeposed(c)

(* A command of a gone incarnation is refused; a stop, and an INIT, that are *)
(* late delete nothing.                                                      *)
LateCommandIsRefused ==
    \E m \in messages : m.type = "leader_and_isr" /\ IsKnownToBeGone(m.to, m.incarnation)
LateStopDeletesNothing ==
    \E m \in messages : m.type = "stop_replica" /\ replicas[m.to].incarnation > m.incarnation
LateInitDeletesNothing ==
    \E m \in messages : m.type = "init" /\ replicas[m.to].incarnation > m.zxid
InitDeletes ==
    \E m \in messages : m.type = "init" /\ m.incarnation # replicas[m.to].incarnation
        /\ replicas[m.to].incarnation \in CreatedUntil(m.zxid)

(* A broker comes back with its directory, or drops what is left over.       *)
RestartKeepsDirectory ==
    \E b \in Brokers : IsPast("crashes") /\ replicas[b].is_up /\ obeyed[b] = NoIncarnation
        /\ replicas[b].incarnation # NoIncarnation /\ replicas[b].incarnation = CurrentIncarnation
RestartDropsDirectory ==
    \E b \in Brokers : IsPast("crashes") /\ replicas[b].is_up /\ obeyed[b] = NoIncarnation
        /\ replicas[b].incarnation = NoIncarnation /\ replicas[b].oldest > 1
RestartedReplicaServes == IsPast("crashes") /\ IsServed

(* A broker does not run while the only stop comes, and has to find by itself*)
(* that its directory is left over.                                          *)
StopIsLost ==
    \E b \in Brokers : LET known == replicas[b].incarnation IN
        /\ ~replicas[b].is_up /\ known \notin {NoIncarnation, CurrentIncarnation}
        /\ \A c \in Controllers : IsActive(c)
            /\ known \notin controllers[c].to_stop \cup {controllers[c].known}
        /\ \A m \in messages : m.to = b => m.type # "stop_replica"
=============================================================================
