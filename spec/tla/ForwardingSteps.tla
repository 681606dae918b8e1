--------------------------- MODULE ForwardingSteps ---------------------------
(* What one step of `Forwarding` may do to each request, to what a broker    *)
(* knows and to the office, whichever action takes it.                       *)
EXTENDS Forwarding

(* What is on its way comes from its client, or from the broker that has     *)
(* passed it on to the one that it takes for controller.                     *)
\* @req FWD-002
\* @req FWD-005
MessagesArePassedOn ==
    [][\A m \in messages' \ messages :
        IF ~m.from_broker
        THEN /\ m.forwards = 0
             /\ answers[m.request] # "waiting"
             /\ m.is_new <=> m.request \in NewVersions
             /\ (m.principal = "client" <=> m.request \notin Forgers)
        ELSE \E passed \in messages \ messages' :
                /\ passed.request = m.request
                /\ passed.forwards = m.forwards - 1
                /\ m.to = nodes[passed.to].active_controller_id
                /\ m.to # passed.to
                /\ nodes[passed.to].controller_epoch = NoEpoch /\ ~nodes[passed.to].is_old
                /\ m.principal = IF m.request \in Finders THEN Broker ELSE "client"]_vars

(* What a broker writes it has read at once, of a request that has come to   *)
(* it, and writes or loses before the next. Each write of the znode is one   *)
(* effect. A broker that is elected knows it, one that bounces forgets.      *)
\* @req FWD-006
\* @req FWD-007
NothingIsReplaced ==
    [][/\ config' # config <=> effects' # effects
       /\ config' # config => config'.version = config.version + 1
       /\ \A b \in Brokers : LET now == nodes[b] next == nodes'[b] IN
            /\ now.writing # <<>> => next.writing \in {now.writing, <<>>}
            /\ next.writing # <<>> /\ now.writing = <<>> =>
                /\ next.writing[1].data = config.data
                /\ next.writing[1].version = config.version
                /\ next.writing[1].controller_epoch = now.controller_epoch
                /\ next.writing[1].is_old = now.is_old
                /\ \E m \in messages \ messages' :
                    m.to = b /\ m.request = next.writing[1].request
            /\ next.controller_epoch \in {now.controller_epoch, NoEpoch, controller'.controller_epoch}
            /\ next.controller_epoch = NoEpoch /\ now.controller_epoch = controller.controller_epoch =>
                next.active_controller_id = NoBroker
            /\ next.active_controller_id \in
                {now.active_controller_id, NoBroker, controller'.controller_id}
            /\ <<next.is_old, next.has_code>> # <<now.is_old, now.has_code>> =>
                /\ next.active_controller_id = NoBroker /\ next.controller_epoch = NoEpoch
                /\ next.writing = <<>> /\ (next.has_code \/ next.is_old)
                /\ \A m \in messages' : m.to # b
       /\ \A b \in Brokers : seen'[b] \in {seen[b], config.version}
       /\ \A b \in Brokers : controller' # controller /\ controller'.controller_id = b =>
            /\ nodes'[b].active_controller_id = b
            /\ nodes'[b].controller_epoch = controller'.controller_epoch]_vars

(* Every write is the controller's, under whichever protocol: what level 5   *)
(* promises, once each of its brokers speaks it, and no level below does.    *)
\* @req FWD-001
ControllerAloneWrites ==
    [][config' # config => \E b \in Brokers :
        IsController(b) /\ nodes[b].writing # <<>> /\ nodes'[b].writing = <<>>]_vars

(* A request is refused where the code for it is not there, and a client may *)
(* ask again where a broker did not pass it on or did not write.             *)
\* @req FWD-004
\* @req FWD-007
RefusalsHaveReasons ==
    [][\A r \in Requests : answers'[r] # answers[r] =>
        /\ answers[r] \in {"none", "again", "waiting"}
        /\ answers'[r] = "refused" => \E m \in messages \ messages' :
            m.request = r /\ m.from_broker /\ ~nodes[m.to].has_code
        /\ answers'[r] = "again" => config' = config
        /\ answers'[r] = "ok" => \E b \in Brokers :
            nodes[b].writing # <<>> /\ nodes[b].writing[1].request = r
        /\ answers'[r] = "waiting" => \E m \in messages' \ messages : m.request = r]_vars

(* What a bound allows changes something else than what is left of it.       *)
BoundedStepsHaveEffect ==
    [][budget' # budget =>
        <<config, controller, nodes, messages>>' # <<config, controller, nodes, messages>>]_vars

(* An election names another broker under the next epoch, and the office is  *)
(* vacant when the controller stops, at once and for no other reason.        *)
\* @req CTL-005
OfficesChange ==
    [][LET before == controller.controller_id after == controller'.controller_id
       IN /\ controller' # controller => after # before
          /\ after = NoBroker /\ before # NoBroker => nodes'[before].controller_epoch = NoEpoch
          /\ IF after \in {before, NoBroker}
             THEN controller'.controller_epoch = controller.controller_epoch
             ELSE controller'.controller_epoch = controller.controller_epoch + 1
          /\ \A b \in Brokers :
                nodes'[b].is_old # nodes[b].is_old \/ nodes'[b].has_code # nodes[b].has_code =>
                    after # b]_vars

(* The protocol goes one way, and the code too but under the old protocol; no*)
(* broker stops but for a step of an upgrade.                                *)
\* @req FWD-007
UpgradesGoOn ==
    [][\A b \in Brokers : LET now == nodes[b] next == nodes'[b] IN
        /\ (next.is_old => now.is_old) /\ (now.has_code => next.has_code \/ next.is_old)
        /\ <<next.is_old, next.has_code>> = <<now.is_old, now.has_code>> =>
            /\ next.active_controller_id = NoBroker /\ now.active_controller_id # NoBroker =>
                controller.controller_id = NoBroker
            /\ now.writing # <<>> /\ next.writing = <<>> =>
                answers' # answers /\ UNCHANGED <<messages, controller>>]_vars
=============================================================================
