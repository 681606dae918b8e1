------------------------- MODULE LeaderAndIsrSteps --------------------------
(* What one step of `LeaderAndIsr` may do to what one process knows, and     *)
(* what belongs together in it, as `ClusterSteps` says of all features.      *)
EXTENDS LeaderAndIsrReached

(* What a process knows ends with it, and what a controller knows with its   *)
(* office.                                                                   *)
\* @req CTL-008
\* @req START-001
MemoryEnds ==
    /\ \A c \in Controllers :
        /\ controllers[c].status = "standing" => controllers[c] = IdleController
        /\ controllers[c].is_reply_lost => controllers[c].decision # <<>>
    /\ \A b \in Brokers : replicas[b].role \in {"down", "starting"} =>
        replicas[b] = StoppedReplica(replicas[b].role)

(* A partition has a first leader once its topic is there, and not before.   *)
\* @req TOP-001
StateNeedsTopic == Exists(znodes, StatePath) => Exists(znodes, TopicPath)

(* What a replica knows is what its role needs: a leader its ISR, a follower *)
(* its leader; only a leader waits for an answer of ZooKeeper.               *)
\* @req ISR-003
RoleTellsMemory ==
    \A b \in Brokers : LET r == replicas[b] IN
        /\ r.role \in {"leader", "fenced"} <=> r.isr # {}
        /\ r.role \in {"leader", "fenced"} <=> r.leader = b
        /\ r.role = "idle" => r.leader = NoBroker
        /\ r.pending_isr # <<>> => r.role = "leader"
        /\ r.is_reply_lost => r.pending_isr # <<>>

(* A term ends before the next one begins, and what is decided, or asked for,*)
(* is settled before the next. While its /controller stands, a controller    *)
(* stays in office.                                                          *)
\* @req CTL-008
NothingIsReplaced ==
    [][/\ \A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
            /\ now.status = "active" =>
                \/ next.status = "active" /\ next.controller_epoch = now.controller_epoch
                \/ next.status = "standing" /\ znodes[ControllerPath].ephemeral_owner # c
            /\ now.decision # <<>> => next.decision \in {now.decision, <<>>}
       /\ \A b \in Brokers : replicas[b].pending_isr # <<>> =>
            replicas'[b].pending_isr \in {replicas[b].pending_isr, <<>>}]_metadata_vars

(* What a bound allows changes something else than what is left of it; a     *)
(* reply that is lost is one of a write that took effect.                    *)
BoundedStepsHaveEffect ==
    [][/\ budget' # budget =>
            <<znodes, controllers, replicas, messages>>' # <<znodes, controllers, replicas, messages>>
       /\ budget'["lost_replies"] < budget["lost_replies"] => znodes' # znodes]_metadata_vars

IsTold(told) ==
    told = <<>> \/ told = <<[state |-> znodes'[StatePath].data,
                             znode_version |-> znodes'[StatePath].version]>>

(* A controller knows what it has read: the brokers that are registered when *)
(* it looks, and of the state what ZooKeeper holds. Brokers that have come   *)
(* are told, and no others, unless a decision is due; and what is to be told *)
(* is told to all.                                                           *)
\* @req CTL-005
\* @req FAIL-006
ControllersKnowWhatTheyRead ==
    [][\A c \in Controllers : LET now == controllers[c] next == controllers'[c] IN
        /\ next.to_send # now.to_send => IsTold(next.to_send)
        /\ now.status = "standing" /\ next.status = "active" =>
            /\ next = [IdleController EXCEPT
                        !.status = "active", !.controller_epoch = znodes'[ControllerEpochPath].data,
                        !.live_brokers = Registered, !.to_send = next.to_send]
            /\ znodes'[ControllerPath].ephemeral_owner = c
            /\ Exists(znodes, StatePath) /\ ~IsAffected(Registered) => next.to_send # <<>>
        /\ now.status = "active" /\ next.live_brokers # now.live_brokers =>
            \/ next.status = "standing"
            \/ /\ next.live_brokers = Registered
               /\ IF Registered \subseteq now.live_brokers THEN next.to_send = now.to_send
                  ELSE Exists(znodes, StatePath) =>
                    next.to_send # <<>> \/ IsAffected(Registered)
        /\ (/\ now.status = "active"
            /\ next.status = "active"
            /\ now.decision = next.decision
            /\ now.to_send # <<>>
            /\ next.to_send = <<>>) => \A b \in Brokers : \E m \in messages' :
                m.from = c /\ m.to = b /\ m.znode_version = now.to_send[1].znode_version
      ]_metadata_vars

(* A command is what its sender has to tell; a second copy comes of a first. *)
\* @req CTL-006
\* @req CMD-003
CommandsTellWhatIs ==
    [][\A m \in messages' \ messages :
        IF m.copy = 2 THEN budget'["duplicates"] < budget["duplicates"]
                            /\ \E first \in messages : first.copy = 1 /\ [first EXCEPT !.copy = 2] = m
        ELSE LET told == controllers[m.from].to_send
             IN /\ told # <<>>
                /\ m.leader = told[1].state.leader
                /\ m.leader_epoch = told[1].state.leader_epoch
                /\ m.isr = told[1].state.isr
                /\ m.znode_version = told[1].znode_version
                /\ m.controller_epoch = controllers[m.from].controller_epoch]_metadata_vars

(* A command is gone when it is lost, or obeyed, which makes the replica what*)
(* the command says, or when a later one on its link is.                     *)
\* @req CMD-002
CommandsAreObeyed ==
    [][\A m \in messages \ messages' :
        \/ budget'["losses"] < budget["losses"] /\ messages' = messages \ {m}
        \/ \E obeyed \in messages \ messages' :
            LET known == replicas[m.to]
                next == replicas'[m.to]
            IN /\ obeyed = m \/ (IsSameLink(obeyed, m) /\ m.place < obeyed.place)
               /\ known.role \notin {"down", "starting"}
               /\ next.role = (IF obeyed.leader = m.to THEN "leader" ELSE "follower")
               /\ next.leader = obeyed.leader
               /\ next.leader_epoch = obeyed.leader_epoch
               /\ next.isr = (IF obeyed.leader = m.to THEN obeyed.isr ELSE {})
               /\ next.znode_version = obeyed.znode_version
               /\ next.controller_epoch = obeyed.controller_epoch]_metadata_vars

(* What a running broker has obeyed, or read at its start, it never takes    *)
(* back, and obeys it once.                                                  *)
\* @req CMD-002
\* @req CTL-006
ObeyedStays ==
    [][\A b \in Brokers : LET now == replicas[b] next == replicas'[b] IN
        (now.role \notin {"down", "starting"} /\ next.role # "down") =>
            /\ next.controller_epoch >= now.controller_epoch
            /\ \/ next.leader_epoch > now.leader_epoch
               \/ /\ next.leader_epoch = now.leader_epoch
                  /\ next.znode_version >= now.znode_version
                  /\ \/ next.role = now.role
                     \/ now.role = "idle"
                     \/ now.role = "leader" /\ next.role = "fenced"]_metadata_vars

(* A broker registers before it takes part, and reads the state with that. A *)
(* process that runs registers, and no other.                                *)
\* @req START-001
\* @req START-002
RegistrationsAreNew ==
    [][\A b \in Brokers :
        /\ replicas[b].role = "starting" /\ replicas'[b].role # "starting" =>
            \/ replicas'[b].role = "down"
            \/ /\ znodes'[BrokerPath(b)].ephemeral_owner = b
               /\ ~Exists(znodes, BrokerPath(b))
               /\ Exists(znodes, StatePath) => replicas'[b].znode_version = StateVersion
        /\ Exists(znodes', BrokerPath(b)) /\ ~Exists(znodes, BrokerPath(b)) =>
            replicas[b].role # "down"]_metadata_vars

(* On an ordered link what is sent stands behind all that is on its way, in a*)
(* place of its own. What comes takes from its link what was sent before it, *)
(* and nothing from another.                                                 *)
\* @req CMD-002
LinksKeepOrder ==
    [][LET gone == messages \ messages'
           is_lost == budget'["losses"] < budget["losses"]
       IN network = "ordered" =>
            /\ \A m \in messages' \ messages, other \in messages :
                m.copy = 1 /\ m.from = other.from /\ m.to = other.to => other.place < m.place
            /\ \A m \in gone :
                /\ \A other \in gone : m.from = other.from /\ m.to = other.to
                /\ \A other \in messages' : is_lost \/ other.place >= m.place
                        \/ m.from # other.from \/ m.to # other.to]_metadata_vars
=============================================================================
