----------------------------- MODULE TraceReal ------------------------------
(* Each step of a replay is a step of `Replication`, or none. A step that is *)
(* more general than the action is that action on another state: one that    *)
(* its process may have seen, or that was there when the line's author did   *)
(* what it tells. `Becomes` names both states and the action; what a state   *)
(* differs in from the replay's own is what the tables of replay.md say.     *)
EXTENDS TraceReplication

(* `before` becomes `after` by an action of `Replication`: k is the present  *)
(* place, so that each variable is the one before this step, and the other   *)
(* behind it.                                                                *)
Becomes(k, before, after) == INSTANCE Replication WITH
    unclean_leader_election <- FALSE,
    znodes <- IF at = k THEN before.znodes ELSE after.znodes,
    controllers <- IF at = k THEN before.controllers ELSE after.controllers,
    replicas <- IF at = k THEN before.replicas ELSE after.replicas,
    messages <- IF at = k THEN before.messages ELSE after.messages,
    budget <- IF at = k THEN before.budget ELSE after.budget,
    breaches <- IF at = k THEN before.breaches ELSE after.breaches,
    logs <- IF at = k THEN before.logs ELSE after.logs,
    fetches <- IF at = k THEN before.fetches ELSE after.fetches,
    committed <- IF at = k THEN before.committed ELSE after.committed,
    acknowledged <- IF at = k THEN before.acknowledged ELSE after.acknowledged

(* The same where a broker outside the ISR may lead.                         *)
Allowing(k, before, after) == INSTANCE Replication WITH
    unclean_leader_election <- TRUE,
    znodes <- IF at = k THEN before.znodes ELSE after.znodes,
    controllers <- IF at = k THEN before.controllers ELSE after.controllers,
    replicas <- IF at = k THEN before.replicas ELSE after.replicas,
    messages <- IF at = k THEN before.messages ELSE after.messages,
    budget <- IF at = k THEN before.budget ELSE after.budget,
    breaches <- IF at = k THEN before.breaches ELSE after.breaches,
    logs <- IF at = k THEN before.logs ELSE after.logs,
    fetches <- IF at = k THEN before.fetches ELSE after.fetches,
    committed <- IF at = k THEN before.committed ELSE after.committed,
    acknowledged <- IF at = k THEN before.acknowledged ELSE after.acknowledged

(* A person writes to /controller, as `ControllerElection` has it, which has *)
(* the brokers' ids in it, and counts its versions as ZooKeeper does.        *)
ByHand(k, before, after) == INSTANCE ControllerElection WITH
    znodes <- IF at = k THEN before.znodes ELSE after.znodes,
    budget <- IF at = k THEN before.budget ELSE after.budget,
    live_sessions <- {}, last_session <- 0, candidates <- <<>>, requests <- {}, terms <- {},
    decided_epoch <- 0, elected <- <<>>, heard <- <<>>, breaches <- {}

(* The state and what is assigned, as `StateZnode` has them.                 *)
AsZnode(k, before, after) == INSTANCE StateZnode WITH
    BrokerOf <- LAMBDA b : b,
    state <- IF at = k THEN before.state ELSE after.state,
    version <- IF at = k THEN before.version ELSE after.version,
    assigned <- IF at = k THEN before.assigned ELSE after.assigned,
    decided_on <- {before.version}, asked_on <- {},
    controller_epoch <- Event.controller_epoch, is_loss_told <- FALSE

(* A replica that is stopped, as `Reassignment` has it.                      *)
Moves(k, before, after) == INSTANCE Reassignment WITH
    replicas <- IF at = k THEN before.replicas ELSE after.replicas,
    messages <- IF at = k THEN before.messages ELSE after.messages,
    FirstAssigned <- {}, Targets <- {}, Dead <- {},
    znodes <- <<>>, controllers <- <<>>, requested <- {}, budget <- <<>>

Before ==
    [znodes |-> znodes, controllers |-> controllers, replicas |-> replicas,
     messages |-> messages, budget |-> budget, breaches |-> breaches, logs |-> logs,
     fetches |-> {}, committed |-> {}, acknowledged |-> {}]

After ==
    [znodes |-> znodes', controllers |-> controllers', replicas |-> replicas',
     messages |-> messages', budget |-> budget, breaches |-> breaches', logs |-> logs',
     fetches |-> {}, committed |-> {}, acknowledged |-> {}]

Stays == Before = After

(* What an action that spends something leaves. *)
Spending(s, what) == [s EXCEPT !.budget[what] = @ - 1]

HoldsState(s, version, state) ==
    [s EXCEPT !.znodes[Metadata!StatePath].data = state,
              !.znodes[Metadata!StatePath].version = version]
HeldState(s, version) == HoldsState(s, version, PastState(version))

Registers(s, brokers) ==
    [s EXCEPT !.znodes = [path \in DOMAIN @ |->
        IF \E b \in Brokers : path = Metadata!BrokerPath(b)
        THEN IF \E b \in brokers : path = Metadata!BrokerPath(b)
             THEN Metadata!Ephemeral(CHOOSE b \in brokers : path = Metadata!BrokerPath(b))
             ELSE Metadata!Absent
        ELSE @[path]]]

-----------------------------------------------------------------------------
(* Each claim is about the state before and the one behind, `s` and `t`.     *)

(* Its author has not heard of it yet: that is the second half.              *)
Registered(k, s, t, b) ==
    \E x \in {[s EXCEPT !.replicas[b].role = "idle"]}, y \in {[t EXCEPT !.replicas[b].role = "idle"]} :
        Becomes(k, x, y)!RegisterBroker(b)

(* The second half: it registers and has read this version. *)
HasRead(k, s, t, b) ==
    LET seen(x) == HeldState(Registers(x, {}), Event.znode_version)
        known(x) == HeldState(Registers(x, {b}), Event.znode_version)
        started == [s EXCEPT !.replicas[b] = Metadata!StoppedReplica("starting")]
        reads == [t EXCEPT !.replicas[b] =
                    [Metadata!StoppedReplica("idle") EXCEPT
                        !.leader_epoch = t.replicas[b].leader_epoch,
                        !.znode_version = t.replicas[b].znode_version,
                        !.heard.leader_epoch = t.replicas[b].heard.leader_epoch]]
    IN IF Event.is_start THEN \E x \in {seen(started)}, y \in {known(reads)} :
                                  Becomes(k, x, y)!RegisterBroker(b)
       ELSE s = t

(* A leader writes the controller epoch of the command that it obeyed. *)
StateWritten(k, s, t, b) ==
    LET epoch == s.znodes[Metadata!StatePath].data.controller_epoch
        is_leaders == b \in Brokers /\ t.controllers = s.controllers
        written == IF is_leaders
                   THEN [t EXCEPT !.znodes[Metadata!StatePath].data.controller_epoch = epoch] ELSE t
    IN \E x \in {s}, y \in {Spending(written, "lost_replies")} :
           Becomes(k, x, y)!LoseReply

(* What it read may be older than what is there now. *)
Learnt(k, s, t, b) ==
    LET raised == s.znodes[Metadata!ControllerEpochPath].data
        reads(x) == [x EXCEPT !.znodes[Metadata!ControllerEpochPath].data = Event.controller_epoch]
    IN /\ Event.controller_epoch <= raised
       /\ s = t \/ \E x \in {reads(s)}, y \in {reads(t)} :
                    Becomes(k, x, y)!LearnController(b)

AsReassigned(s) ==
    [b \in Brokers |-> LET r == s.replicas[b] IN
        [is_up |-> r.role \notin {"down", "starting"},
         log |-> IF s.logs[b].records = <<>> THEN "absent" ELSE "complete",
         leader |-> r.leader, leader_epoch |-> r.leader_epoch,
         isr |-> r.isr, znode_version |-> r.znode_version]]

OnlyReplica(s, t, b) ==
    [t EXCEPT !.replicas[b] = s.replicas[b], !.logs[b] = s.logs[b]] = s

(* A replica that is no member of the ISR goes with its log. *)
GivenUp(k, s, t, b) ==
    LET stop == [type |-> "stop_replica", to |-> b, leader_epoch |-> Event.leader_epoch]
        has(x, sent) == [replicas |-> AsReassigned(x), messages |-> sent]
    IN /\ OnlyReplica(s, t, b)
       /\ b \notin s.znodes[Metadata!StatePath].data.isr
       /\ t.logs[b].records = <<>>
       /\ t.replicas[b].role = "idle"
       /\ Is("StopReplica") => \E x \in {has(s, {stop})}, y \in {has(t, {})} :
                                    Moves(k, x, y)!StopReplica(b)

Stopped(k, s, t, b) == IF Event.is_own THEN GivenUp(k, s, t, b) ELSE Learnt(k, s, t, b)

Znode(state, version, assigned) == [state |-> state, version |-> version, assigned |-> assigned]

(* What is decided is a step of the state's znode, with what is assigned.    *)
OnlyDecides(s, t, c) == [t EXCEPT !.controllers[c] = s.controllers[c]] = s
DecidesStep(k, t, c, assigned) ==
    LET version == Event.expected_version
        decided == t.controllers[c].decision[1].state
    IN \E x \in {Znode(PastState(version), version, past[version + 1].assigned)}, y \in {Znode(decided, version + 1, assigned)} :
           AsZnode(k, x, y)!Step

ElectedAsAsked(k, s, t, c) ==
    OnlyDecides(s, t, c) /\ DecidesStep(k, t, c, past[Event.expected_version + 1].assigned)

ReassignmentAdvanced(k, s, t, c) ==
    OnlyDecides(s, t, c) /\ DecidesStep(k, t, c, Members(Event.assigned_replicas))

(* A move writes both at once; the topic alone is written where the ISR is   *)
(* assigned still, or goes with it.                                          *)
Moved(k, s, t, b) ==
    /\ StateWritten(k, s, t, b)
    /\ \E x \in {Znode(s.znodes[Metadata!StatePath].data, s.znodes[Metadata!StatePath].version, Assigned)},
           y \in {Znode(t.znodes[Metadata!StatePath].data, t.znodes[Metadata!StatePath].version, Members(Event.assigned))} :
          AsZnode(k, x, y)!Step
Assigns(s) ==
    \/ ~Metadata!Exists(s.znodes, Metadata!StatePath)
    \/ Event.assigned = <<>>
    \/ s.znodes[Metadata!StatePath].data.isr \subseteq Members(Event.assigned)

(* It may know before ZooKeeper ends its session. *)
Resigned(k, s, t, c) ==
    LET over(x) == [x EXCEPT !.znodes[Metadata!ControllerPath] = Metadata!Absent]
    IN \E x \in {over(s)}, y \in {over(t)} :
           Becomes(k, x, y)!ResignController(c)

(* It looked while these were registered. What it sends because of that is   *)
(* told by the lines of its commands.                                        *)
Detected(k, s, t, c) ==
    LET looks(x) == [Registers(x, Event.live_brokers) EXCEPT !.controllers[c].to_send = <<>>]
        sends(x, sent) == [looks(x) EXCEPT !.controllers[c].to_send = sent]
        present == [state |-> s.znodes[Metadata!StatePath].data,
                    znode_version |-> s.znodes[Metadata!StatePath].version]
    IN \/ s = t
       \/ \E sent \in {<<>>, <<present>>} :
             \E x \in {looks(s)}, y \in {sends(t, sent)} :
                 Becomes(k, x, y)!DetectBrokerChange(c)

(* It is free, and sees these as live. *)
Deciding(s, c, live) ==
    [s EXCEPT !.controllers[c].decision = <<>>, !.controllers[c].is_reply_lost = FALSE,
              !.controllers[c].to_send = <<>>, !.controllers[c].live_brokers = live]
Deciding2(s, t, c, live) ==
    [Deciding(s, c, live) EXCEPT !.controllers[c].decision = t.controllers[c].decision]

Logged(s) ==
    IF Metadata!Exists(s.znodes, Metadata!ControllerPath)
    THEN [s EXCEPT !.znodes[Metadata!ControllerPath].version = AsLogged(@)] ELSE s

OnlyZnode(s, t, path) == [t EXCEPT !.znodes[path] = s.znodes[path]] = s

(* A session that ends takes /controller along; a person, or the broker that *)
(* finds a person's znode there, deletes it.                                 *)
Dismissed(k, s, t) ==
    \/ \E x \in {s}, y \in {Spending(t, "controller_expiries")} :
          Becomes(k, x, y)!ExpireSession
    \/ \E x \in {Logged(s)}, y \in {Spending(Logged(t), "deletions")} :
          ByHand(k, x, y)!DeleteController

Overwritten(k, s, t) ==
    /\ OnlyZnode(s, t, Metadata!ControllerPath)
    /\ \E x \in {Logged(s)}, y \in {Spending(Logged(t), "overwrites")} :
          ByHand(k, x, y)!OverwriteController

(* No module has a person that writes a larger epoch: it does no harm.       *)
Raised(s, t) ==
    /\ OnlyZnode(s, t, Metadata!ControllerEpochPath)
    /\ t.znodes[Metadata!ControllerEpochPath].data > s.znodes[Metadata!ControllerEpochPath].data

(* On what it read some time ago, when there was no state. Of the live       *)
(* brokers only those with a replica are asked.                              *)
FirstLeader(k, s, t, c) ==
    LET none(x) == [x EXCEPT !.znodes[Metadata!StatePath] = Metadata!Absent]
    IN \E x \in {none(Deciding(s, c, Event.isr))}, y \in {none(Deciding2(s, t, c, Event.isr))} :
           Becomes(k, x, y)!InitLeader(c)

(* On the state of the version that it expects, and without the members that *)
(* it treats as gone. If all of them were away and are back, it is as if the *)
(* partition had had no leader (H2c).                                        *)
Elected(k, s, t, c) ==
    LET state == PastState(Event.expected_version)
        alive == s.controllers[c].live_brokers \ state.isr
        live == alive \cup (IF Event.leader = Metadata!NoBroker THEN {} ELSE Event.isr)
        is_back == state.isr \subseteq live /\ state.leader \in live
        seen == IF is_back THEN [state EXCEPT !.leader = Metadata!NoBroker] ELSE state
        on(x) == HoldsState(x, Event.expected_version, seen)
    IN \E x \in {on(Deciding(s, c, live))}, y \in {Spending(on(Deciding2(s, t, c, live)), "elections")} :
           Becomes(k, x, y)!ElectLeader(c)

(* It looked when no member was there, and the new leader was.               *)
ElectedOutside(k, s, t, c) ==
    LET on(x) == Registers(HoldsState(x, Event.expected_version, PastState(Event.expected_version)),
                           {Event.leader})
    IN \E x \in {on(Deciding(s, c, {Event.leader}))}, y \in {Spending(on(Deciding2(s, t, c, {Event.leader})), "elections")} :
           Allowing(k, x, y)!ElectLeader(c)

IsOfMember == Event.leader \in PastState(Event.expected_version).isr \cup {Metadata!NoBroker}

(* The state was there, and may have been replaced since. *)
Published(k, s, t, c) ==
    LET there(x) == HeldState([x EXCEPT !.controllers[c].to_send = <<>>], Event.znode_version)
        told == [state |-> StateOf(Event), znode_version |-> Event.znode_version]
    IN \E x \in {there(s)}, y \in {[there(t) EXCEPT !.controllers[c].to_send = <<told>>]} :
           Becomes(k, x, y)!PublishDecision(c)

(* To one broker of those to which it is on its way. *)
Sent(k, s, t, c) ==
    LET told == [state |-> PastState(Event.znode_version), znode_version |-> Event.znode_version]
        all == {[Command(c, Event.peer) EXCEPT !.to = b] : b \in Brokers}
    IN /\ \E x \in {[s EXCEPT !.controllers[c].to_send = <<told>>]}, y \in {[t EXCEPT !.controllers[c].to_send = <<>>, !.messages = s.messages \cup all]} :
              Becomes(k, x, y)!SendLeaderAndIsr(c)
       /\ t.messages \subseteq s.messages \cup all

(* A copy of the command stays: the network repeats it. *)
Obeyed(k, s, t, b) ==
    LET left == [t EXCEPT !.messages = @ \ {Command(Event.controller_id, b)}]
    IN IF Is("BecomeLeader") THEN \E x \in {s}, y \in {left} :
                                      Becomes(k, x, y)!BecomeLeader(b)
       ELSE \E x \in {s}, y \in {left} :
                Becomes(k, x, y)!BecomeFollower(b)

(* A crash and a restart in one step; a controller that crashes forgets its  *)
(* office. What a disk has lost it had not.                                  *)
Started(k, s, t, b) ==
    LET found == [s EXCEPT !.logs[b].records = t.logs[b].records,
                           !.logs[b].high_watermark = t.logs[b].high_watermark]
        down == [s EXCEPT !.replicas[b] = Metadata!StoppedReplica("down"), !.logs[b] = t.logs[b]]
        up == [t EXCEPT !.controllers = s.controllers]
    IN /\ \E x \in {found}, y \in {Spending(down, "crashes")} :
              Becomes(k, x, y)!CrashBroker(b)
       /\ \E x \in {down}, y \in {up} :
              Becomes(k, x, y)!RestartBroker(b)
       /\ t.controllers = [s.controllers EXCEPT ![b] = Metadata!IdleController]

(* The checkpoint with which it restarts. One write may be untold. *)
Recovered(k, s, t, b) ==
    LET is_told == t.logs[b].records = s.logs[b].records
        with(x, role) == [x EXCEPT !.replicas[b] = Metadata!StoppedReplica(role)]
    IN is_told => \E x \in {with(s, "down")}, y \in {with(t, "starting")} :
                      Becomes(k, x, y)!RestartBroker(b)

(* One question of several, or the last: what is left agrees with a log that *)
(* its leader had.                                                           *)
Cutting(k, s, t, b) ==
    LET l == s.replicas[b].leader
        leads(x, tenure) ==
            [x EXCEPT !.replicas[l].role = "leader",
                      !.replicas[l].leader_epoch = s.replicas[b].leader_epoch,
                      !.logs[l].records = tenure.records]
        asks(x, tenure) == [leads(x, tenure) EXCEPT !.logs[b].is_truncated = FALSE]
    IN IF ~t.logs[b].is_truncated \/ truncation = "high_watermark" THEN TRUE
       ELSE \E tenure \in LedLogs(b) :
               \E x \in {asks(s, tenure)}, y \in {leads(t, tenure)} :
                   Becomes(k, x, y)!TruncateLog(b)

-----------------------------------------------------------------------------
(* Records: one by one *)

Appended(k, s, t, b) ==
    LET n == Len(Event.values)
        has(i) == SubSeq(t.logs[b].records, 1, Event.offset + i)
        left(i) == Limits["records"] + 1 - Event.values[i]
        grown(i) == [s EXCEPT !.logs[b].records = has(i)]
    IN /\ t.logs[b].records = has(n)
       /\ \A i \in 1 .. n :
             \E x \in {[grown(i - 1) EXCEPT !.budget["records"] = left(i)]}, y \in {[grown(i) EXCEPT !.budget["records"] = left(i) - 1]} :
                 Becomes(k, x, y)!LeaderAppend(b)

(* The follower is as it was when it asked; a fenced leader as it was before. *)
Served(k, s, t, l, f) ==
    LET asked(x) ==
            [x EXCEPT !.replicas[l].role = "leader",
                      !.replicas[f] = [Metadata!StoppedReplica("follower") EXCEPT
                                            !.leader = l,
                                            !.leader_epoch = s.replicas[l].leader_epoch],
                      !.logs[f].is_truncated = TRUE,
                      !.logs[f].records = Read(s.logs[l].records, 0, Event.offset)]
        answer == [from |-> l, to |-> f, leader_epoch |-> s.replicas[l].leader_epoch,
                   offset |-> Event.offset, records |-> Read(s.logs[l].records, Event.offset, 1),
                   high_watermark |-> s.logs[l].high_watermark, copy |-> 1]
    IN \E x \in {asked(s)}, y \in {[asked(t) EXCEPT !.fetches = {answer}]} :
           Becomes(k, x, y)!ServeFetch(l, f)

(* Several records are as many answers, one by one, each of which its leader  *)
(* gave: they are in the log that it had at the end of its tenure.           *)
Fetched(k, s, t, f) ==
    LET n == Len(NewRecords)
        answers == Max({n, 1})
        has(i) == s.logs[f].records \o SubSeq(NewRecords, 1, Min({i, n}))
        mark(i) == IF i = answers THEN Event.high_watermark ELSE s.logs[f].high_watermark
        grown(i) == [s EXCEPT !.logs[f].is_truncated = TRUE, !.logs[f].records = has(i),
                              !.logs[f].high_watermark = mark(i)]
        answer(i, tenure) ==
            [from |-> s.replicas[f].leader, to |-> f,
             leader_epoch |-> s.replicas[f].leader_epoch, offset |-> Len(has(i - 1)),
             records |-> Read(tenure.records, Len(has(i - 1)), Min({n, 1})),
             high_watermark |-> mark(i), copy |-> 1]
        asked(i, tenure) == [grown(i - 1) EXCEPT !.fetches = {answer(i, tenure)}]
    IN /\ t.logs[f].records = has(n)
       /\ t.logs[f].high_watermark = Event.high_watermark
       /\ \E tenure \in LedLogs(f) :
             \A i \in 1 .. answers :
                \E x \in {asked(i, tenure)}, y \in {grown(i)} :
                    Becomes(k, x, y)!FollowerAppend(f)

Advanced(k, s, t, l) ==
    LET below == {[offset |-> i - 1, record |-> s.logs[l].records[i]] :
                     i \in 1 .. Event.high_watermark}
    IN \E x \in {s}, y \in {[t EXCEPT !.committed = below, !.acknowledged = below]} :
           Becomes(k, x, y)!AdvanceHighWatermark(l)

(* Several at once: the last of them, when the others have left or joined.   *)
Shrunk(k, s, t, b) ==
    \E f \in s.replicas[b].isr \ Event.isr :
        LET but(x) == [x EXCEPT !.replicas[b].isr = Event.isr \cup {f}]
        IN \E x \in {but(s)}, y \in {Spending(but(t), "isr_changes")} :
               Becomes(k, x, y)!ShrinkIsr(b, f)

Expanded(k, s, t, b) ==
    \A f \in Event.isr \ s.replicas[b].isr :
        LET but(x) == [x EXCEPT !.replicas[b].isr = Event.isr \ {f}]
        IN \E x \in {but(s)}, y \in {Spending(but(t), "isr_changes")} :
               Becomes(k, x, y)!ExpandIsr(b, f)

(* The state was there, and may have been replaced since. *)
Adopted(k, s, t, b) ==
    LET there(x) == HeldState(x, Event.znode_version)
    IN \E x \in {there(s)}, y \in {there(t)} :
           Becomes(k, x, y)!AdoptIsr(b)

-----------------------------------------------------------------------------
IsReal(k, s, t, b) ==
    CASE Is("ZkRegister") -> Registered(k, s, t, b)
      [] Is("ZkUnregister") -> \E x \in {s}, y \in {Spending(t, "expiries")} :
                                   Becomes(k, x, y)!ExpireSession
      [] Is("ForgetOffice") -> s = t \/ \E x \in {s}, y \in {t} :
                                            Becomes(k, x, y)!ResignController(b)
      [] Is("ZkElect") -> \E x \in {s}, y \in {t} :
                              Becomes(k, x, y)!ElectController(b)
      [] Is("ZkDismiss") -> Dismissed(k, s, t)
      [] Is("ZkWriteController") -> Overwritten(k, s, t)
      [] Is("ZkRaiseEpoch") -> Raised(s, t)
      [] Is("ZkWriteState") -> StateWritten(k, s, t, b)
      [] Is("ReadState") -> HasRead(k, s, t, b)
      [] Is("LearnController") -> Learnt(k, s, t, b)
      [] Is("ResignController") -> Resigned(k, s, t, b)
      [] Is("DetectBrokerChange") -> Detected(k, s, t, b)
      [] Is("InitLeader") -> FirstLeader(k, s, t, b)
      [] Is("ElectLeader") -> CASE ~IsOfMember -> ElectedOutside(k, s, t, b)
                                [] IsPreferred(b, PastState(Event.expected_version)) ->
                                        ElectedAsAsked(k, s, t, b)
                                [] OTHER -> Elected(k, s, t, b)
      [] Is("AdvanceReassignment") -> ReassignmentAdvanced(k, s, t, b)
      [] Is("ZkMove") -> Moved(k, s, t, b)
      [] Is("ZkAssign") -> s = t /\ Assigns(s)
      [] Event.action \in {"ObeyInit", "RecoverReplicas"} -> GivenUp(k, s, t, b)
      [] Is("StopReplica") -> Stopped(k, s, t, b)
      [] Is("PublishDecision") -> Published(k, s, t, b)
      [] Is("SendLeaderAndIsr") -> Sent(k, s, t, b)
      [] Event.action \in {"BecomeLeader", "BecomeFollower"} -> Obeyed(k, s, t, b)
      [] Is("NodeStarted") -> Started(k, s, t, b)
      [] Is("LogRecovered") -> Recovered(k, s, t, b)
      [] Is("TruncateLog") -> Cutting(k, s, t, b)
      [] Is("LeaderAppend") -> Appended(k, s, t, b)
      [] Is("ServeFetch") -> Served(k, s, t, b, Event.peer)
      [] Is("FollowerAppend") -> Fetched(k, s, t, b)
      [] Is("AdvanceHighWatermark") -> Advanced(k, s, t, b)
      [] Is("ShrinkIsr") -> Shrunk(k, s, t, b)
      [] Is("ExpandIsr") -> Expanded(k, s, t, b)
      [] Is("AdoptIsr") -> Adopted(k, s, t, b)
      [] Is("FenceLeader") -> \E x \in {s}, y \in {t} :
                                  Becomes(k, x, y)!FenceLeader(b)

(* The broker is there to hear of it; for the rest nothing happens.          *)
Quiet ==
    {"CreateTopic", "WriteAsked", "WriteHeard", "ControllerAsked", "ControllerRead",
     "ReadAssignment", "DetectTopicChange", "ElectController", "LogFailed", "Acknowledge", "SendInit",
     "ObeyShutdown", "SendUpdateMetadata", "UpdateMetadata", "ZkConfigure", "ApplyMutation",
     "ForwardRequest", "ZkRequest", "CompleteReassignment", "AddPartitions", "RemovePartitions",
     "StartReassignment", "CancelReassignment", "RequestPartitions", "SendStopReplica", "ControllerSends", "RefuseCommand", "RefuseStop", "RefuseFetch",
     "DiscardReading"}

IsRealStep ==
    CASE Event.action \in Quiet -> Stays
      [] Is("ZkCreateTopic") ->
            \E k \in {at}, s \in {Before}, t \in {After} : \E x \in {s}, y \in {t} :
                                                               Becomes(k, x, y)!CreateTopic
      [] Is("RegisterBroker") ->
            After = [Before EXCEPT !.replicas[Event.broker_id].role =
                        IF @ = "starting" THEN "idle" ELSE @]
      [] OTHER ->
            \E k \in {at}, s \in {Before}, t \in {After} : IsReal(k, s, t, Event.broker_id)

(* As an ACTION_CONSTRAINT: tells which step is none of `Replication`. What   *)
(* leaves the state at a pause is no step of a run.                          *)
Real == IF at' = at THEN TRUE ELSE IF IsRealStep THEN TRUE ELSE PrintT(<<"unreal", run, at, Event.action>>) /\ FALSE
=============================================================================
