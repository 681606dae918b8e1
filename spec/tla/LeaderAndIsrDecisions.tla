----------------------- MODULE LeaderAndIsrDecisions ------------------------
(* What controllers and leaders of `LeaderAndIsr` may write, and when. A     *)
(* decision is judged when it is made, by the brokers that its author has    *)
(* seen, and when it is written, by what ZooKeeper holds then.               *)
EXTENDS LeaderAndIsrSteps

HasState == Exists(znodes, StatePath)
OnlyChanged(paths) == \A path \in Paths \ paths : znodes'[path] = znodes[path]

(* The first state names all that live, and one of them as leader.           *)
IsFirstDecision(c, decision) ==
    /\ ~HasState /\ Exists(znodes, TopicPath)
    /\ decision.expected_version = NoVersion
    /\ decision.state.leader_epoch = 0
    /\ decision.state.isr = controllers[c].live_brokers
    /\ decision.state.leader \in decision.state.isr
    /\ UNCHANGED budget

(* A decision is due when the leader or a member has failed. A leader that   *)
(* lives stays, else a member that lives leads; where none lives, an outsider*)
(* may lead if that is allowed, and if no member has come back; else the     *)
(* partition waits with its ISR. The first that comes back leads alone.      *)
IsNextDecision(c, decision) ==
    LET s == decision.state
        live == controllers[c].live_brokers
        members == State.isr \cap live
    IN /\ HasState
       /\ State.leader \notin live \/ members # State.isr
       /\ decision.expected_version = StateVersion
       /\ s.leader_epoch = State.leader_epoch + 1
       /\ budget'["elections"] < budget["elections"]
       /\ CASE members # {} ->
                /\ s.leader \in members
                /\ State.leader \in members => s.leader = State.leader
                /\ s.isr = (IF State.leader = NoBroker THEN {s.leader} ELSE members)
            [] members = {} /\ unclean_leader_election /\ Registered # {}
                    /\ State.isr \cap Registered = {} ->
                s.leader \in Registered /\ s.isr = {s.leader}
            [] OTHER -> State.leader # NoBroker /\ s.leader = NoBroker /\ s.isr = State.isr

(* A controller that has nothing left to write or to tell decides.           *)
\* @req FAIL-001
\* @req FAIL-002
\* @req FAIL-003
\* @req CTL-011
DecisionsAreSteps ==
    [][\A c \in Controllers : controllers[c].decision = <<>> /\ controllers'[c].decision # <<>> =>
        LET decision == controllers'[c].decision[1] IN
        /\ controllers[c].status = "active" /\ controllers[c].to_send = <<>>
        /\ controllers' = [controllers EXCEPT ![c].decision = <<decision>>]
        /\ decision.state.controller_epoch = controllers[c].controller_epoch
        /\ IsFirstDecision(c, decision) \/ IsNextDecision(c, decision)
        /\ UNCHANGED <<znodes, replicas, messages, breaches>>]_metadata_vars

(* In office still, and on the version on which it was decided.              *)
IsWritable(c) ==
    /\ Exists(znodes, ControllerPath)
    /\ CurrentControllerEpoch = controllers[c].controller_epoch
    /\ znodes[StatePath].version = controllers[c].decision[1].expected_version

IsWrittenAs(decision) ==
    /\ znodes'[StatePath].data = decision.state
    /\ znodes'[StatePath].version = decision.expected_version + 1

(* What was decided is written as it is, behind the checks, or not at all.   *)
(* What is there then is told, whether its author hears of it or finds it;   *)
(* after a conflict what is there is told, or decided upon anew, unless      *)
(* another is in office.                                                     *)
\* @req ZK-003
\* @req ZK-004
\* @req ZK-005
\* @req ZK-006
DecisionsAreWritten ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        /\ now.decision # <<>> /\ next.decision = <<>> /\ next.status = "active" =>
            LET decision == now.decision[1]
                told == [state |-> decision.state, znode_version |-> decision.expected_version + 1]
                is_found == now.is_reply_lost /\ HasState /\ IsWrittenAs(decision)
            IN /\ next = [now EXCEPT !.decision = <<>>, !.is_reply_lost = FALSE,
                                     !.to_send = next.to_send, !.is_watching = next.is_watching]
               /\ IF ~now.is_reply_lost /\ IsWritable(c)
                  THEN IsWrittenAs(decision) /\ OnlyChanged({StatePath}) /\ next.to_send = <<told>>
                  ELSE UNCHANGED znodes
               /\ is_found => next.to_send = <<told>>
               /\ (~is_found /\ UNCHANGED znodes) =>
                    IF (/\ Exists(znodes, ControllerPath)
                        /\ CurrentControllerEpoch = now.controller_epoch
                        /\ HasState
                        /\ {State.leader} \cup State.isr \subseteq now.live_brokers)
                    THEN next.to_send # <<>>
                    ELSE CurrentControllerEpoch # now.controller_epoch => next.to_send = <<>>
               /\ UNCHANGED <<replicas, messages, budget>>
        /\ next.is_reply_lost /\ ~now.is_reply_lost =>
            /\ next = [now EXCEPT !.is_reply_lost = TRUE]
            /\ IF budget'["lost_requests"] < budget["lost_requests"] THEN UNCHANGED znodes
               ELSE /\ IsWritable(c)
                    /\ IsWrittenAs(now.decision[1])
                    /\ OnlyChanged({StatePath})]_metadata_vars

(* A leader asks for one member more or one less, not itself, and keeps what *)
(* it knows until it is answered. It believes in what it asked for when that *)
(* is there; when the state is neither that nor the one before, it stops.    *)
\* @req ISR-001
\* @req ISR-003
\* @req ISR-004
LeadersChangeIsr ==
    [][\A b \in Brokers : LET now == replicas[b] next == replicas'[b] IN
        /\ now.pending_isr = <<>> /\ next.pending_isr # <<>> =>
            /\ next = [now EXCEPT !.pending_isr = next.pending_isr]
            /\ budget'["isr_changes"] < budget["isr_changes"]
            /\ \E f \in Brokers \ {b} :
                \/ f \in now.isr /\ next.pending_isr = <<now.isr \ {f}>>
                \/ f \notin now.isr /\ next.pending_isr = <<now.isr \cup {f}>>
        /\ now.pending_isr # <<>> /\ next.pending_isr = <<>> /\ next.leader_epoch = now.leader_epoch =>
            \/ /\ next = [now EXCEPT !.isr = now.pending_isr[1], !.znode_version = @ + 1,
                                     !.pending_isr = <<>>, !.is_reply_lost = FALSE]
               /\ znodes'[StatePath].version = next.znode_version
               /\ znodes'[StatePath].data =
                    [State EXCEPT !.leader = b, !.leader_epoch = now.leader_epoch, !.isr = next.isr]
               /\ OnlyChanged({StatePath})
            \/ /\ next = [now EXCEPT !.role = "fenced", !.pending_isr = <<>>, !.is_reply_lost = FALSE]
               /\ StateVersion # now.znode_version
               /\ StateVersion = now.znode_version + 1 => State #
                    [State EXCEPT !.leader = b, !.leader_epoch = now.leader_epoch,
                                  !.isr = now.pending_isr[1]]
               /\ UNCHANGED znodes
        /\ next.role = "fenced" /\ now.role # "fenced" =>
            now.role = "leader" /\ now.pending_isr # <<>> /\ next.leader_epoch = now.leader_epoch
        /\ next.is_reply_lost /\ ~now.is_reply_lost =>
            next = [now EXCEPT !.is_reply_lost = TRUE]]_metadata_vars

(* A process ends by a crash, a registration by the end of its session; a    *)
(* topic comes once. A controller epoch is known from ZooKeeper or a command.*)
\* @req CTL-006
\* @req START-001
ProcessesEndByFaults ==
    [][/\ \A b \in Brokers : LET now == replicas[b].role next == replicas'[b].role IN
            /\ now # "down" /\ next = "down" => budget'["crashes"] < budget["crashes"]
            /\ now = "down" => next \in {"down", "starting"}
            /\ now = "starting" => next \in {"down", "starting", "idle"}
            /\ replicas'[b].controller_epoch > replicas[b].controller_epoch =>
                \/ replicas'[b].controller_epoch = CurrentControllerEpoch
                \/ \E m \in messages \ messages' :
                    m.to = b /\ m.controller_epoch = replicas'[b].controller_epoch
       /\ \A b \in Brokers : Exists(znodes, BrokerPath(b)) /\ ~Exists(znodes', BrokerPath(b)) =>
            budget'["expiries"] < budget["expiries"] /\ OnlyChanged({BrokerPath(b)})
       /\ Exists(znodes, ControllerPath) /\ ~Exists(znodes', ControllerPath) =>
            /\ budget'["controller_expiries"] < budget["controller_expiries"]
            /\ OnlyChanged({ControllerPath})
       /\ Exists(znodes, TopicPath) => znodes'[TopicPath] = znodes[TopicPath]]_metadata_vars
=============================================================================
