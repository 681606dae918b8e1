---------------------------- MODULE FencingSteps ----------------------------
(* What else one step of `Fencing` may do to what one process knows, and what*)
(* a decision follows from, whichever action takes it.                       *)
EXTENDS Fencing

(* A leader knows of its followers what they have fetched from it in its     *)
(* epoch, and forgets it with its own next record, which no follower has. A  *)
(* member that joins has fetched, and joins in leader and state at once. A   *)
(* leader that changes no ISR writes nothing.                                *)
\* @req ISR-002
\* @req BEP-006
LeadersLearn ==
    [][\A l \in Brokers : LET now == replicas[l] next == replicas'[l] IN
        (IsLeading(l) /\ next.role = "leader" /\ next.leader_epoch = now.leader_epoch) =>
            /\ IF next.has_record = now.has_record THEN now.caught_up \subseteq next.caught_up
               ELSE /\ next.has_record /\ next.caught_up = {}
                    /\ budget'["records"] < budget["records"]
            /\ \A seen \in next.caught_up \ now.caught_up : LET f == replicas[seen.broker] IN
                /\ f.role = "follower"
                /\ f.leader = l
                /\ f.leader_epoch = now.leader_epoch
                /\ f.broker_epoch = seen.broker_epoch
                /\ f.has_record = now.has_record
            /\ next.isr # now.isr => \E seen \in now.caught_up :
                /\ seen.broker \notin MemberIds(now.isr)
                /\ next.isr = now.isr \cup {Member(seen.broker, seen.broker_epoch)}
                /\ znodes'[StatePath].data = [State EXCEPT !.isr = next.isr]
                /\ next.znode_version = znodes'[StatePath].version
                /\ next.caught_up = now.caught_up
            /\ next.znode_version # now.znode_version => next.isr # now.isr]_vars

(* A record that a leader commits is in its log, and where ZooKeeper has it  *)
(* for the leader, in those of all members of the ISR that still run as the  *)
(* incarnation which joined.                                                 *)
\* @req REPL-002
\* @req BEP-006
CommitsAreReplicated ==
    [][is_committed' # is_committed => \E l \in Brokers :
        /\ IsLeading(l) /\ Log(l)
        /\ IsActing(l) => \A member \in State.isr :
            IF member.broker_epoch = NoBrokerEpoch
            THEN Log(member.broker) \/ member.broker \in lost_in_crash
            ELSE member.broker_epoch = replicas[member.broker].broker_epoch => Log(member.broker)
      ]_vars

(* A process ends by a fault or for its upgrade, which alone brings other    *)
(* code. Only a crash loses a record, and says so; a broker without a leader *)
(* keeps what it has.                                                        *)
\* @req UMD-003
ProcessesEndByFaults ==
    [][\A b \in Brokers : LET now == replicas[b] next == replicas'[b] IN
        /\ now.role # "down" /\ next.role = "down" =>
            \/ next.level = now.level /\ (next.has_record = now.has_record \/ b \in lost_in_crash')
                /\ budget'["crashes"] < budget["crashes"]
            \/ /\ now.level = 3 /\ next.level = 4
               /\ next.has_record = now.has_record
               /\ budget'["upgrades"] < budget["upgrades"]
            \/ /\ now.level = 4 /\ next.level = 3 /\ controller.level = 3
               /\ next.has_record = now.has_record
               /\ budget'["downgrades"] < budget["downgrades"]
        /\ next.level # now.level => next.role = "down" /\ now.role # "down"
        /\ now.role \in {"down", "idle"} =>
            next.has_record = now.has_record \/ b \in lost_in_crash'
        /\ b \in lost_in_crash' \ lost_in_crash =>
            now.has_record /\ ~next.has_record /\ next.role = "down"]_vars

(* An election follows from the registrations that the controller has seen:  *)
(* the members that are still what joined are the ISR, and one of them leads.*)
(* It says that records may be lost exactly when no such member is left and  *)
(* one that is back leads; where none may lead the ISR is kept.              *)
\* @req FAIL-001
\* @req FAIL-003
\* @req BEP-006
DecisionsFollowTheView ==
    [][LET next == znodes'[StatePath].data
           back == {b \in MemberIds(State.isr) : controller.view[b] # 0}
       IN /\ next.leader_epoch # State.leader_epoch =>
                CASE SeenMembers # {} ->
                        /\ next.isr = SeenMembers
                        /\ next.leader \in MemberIds(SeenMembers)
                        /\ next.isr # State.isr \/ next.leader # State.leader
                        /\ is_loss_told' = is_loss_told
                  [] back # {} /\ LastReplica = "elect" ->
                        /\ next.leader \in back
                        /\ next.isr = {[broker |-> next.leader,
                                        broker_epoch |-> IF NamesIdsOnly THEN NoBrokerEpoch
                                                         ELSE controller.view[next.leader]]}
                        /\ is_loss_told'
                  [] OTHER ->
                        /\ State.leader # NoBroker
                        /\ next.leader = NoBroker
                        /\ next.isr = State.isr
                        /\ is_loss_told' = is_loss_told
          /\ is_loss_told' # is_loss_told => next.leader_epoch # State.leader_epoch]_vars

(* What is sent bears the stamp of the level that the controller speaks, and *)
(* names no leader that has failed for the controller. What is due is sent   *)
(* once.                                                                     *)
\* @req BEP-002
\* @req BEP-003
\* @req BEP-004
CommandsAreStamped ==
    [][\A m \in messages' \ messages :
        /\ controller.is_send_due /\ ~controller'.is_send_due
        /\ m.broker_epoch = (IF controller.level = 3 THEN controller.view[m.to] ELSE NoBrokerEpoch)
        /\ IF controller.level # 4 THEN m.max_broker_epoch = NoBrokerEpoch
           ELSE /\ \A b \in Brokers : m.max_broker_epoch >= controller.view[b]
                /\ \E b \in Brokers : m.max_broker_epoch = controller.view[b]
        /\ controller.view[m.to] # 0
        /\ m.leader # NoBroker => m.isr = SeenMembers]_vars

(* Another controller knows what it reads and nothing else. The level that a *)
(* controller speaks rises once, when all brokers understand it. Nothing is  *)
(* sent again without a reason.                                              *)
\* @req CTL-005
\* @req UMD-003
ControllersChange ==
    [][LET now == controller next == controller'
           differing == {b \in Brokers : next.view[b] # now.view[b]}
       IN /\ budget'["controller_changes"] # budget["controller_changes"] =>
                next = [now EXCEPT !.view = Registrations, !.bounced = {}, !.is_send_due = TRUE]
          /\ next.level # now.level =>
                /\ next = [now EXCEPT !.level = 4] /\ now.level = 3
                /\ \A b \in Brokers : replicas[b].level = 4
          /\ (/\ differing # {}
              /\ NamesIdsOnly
              /\ budget'["controller_changes"] = budget["controller_changes"]) =>
                next.bounced = now.bounced \cup differing
          /\ next.bounced # now.bounced /\ differing = {} =>
                /\ next.bounced = {}
                /\ \/ znodes'[StatePath].data.leader_epoch # State.leader_epoch
                   \/ budget'["controller_changes"] # budget["controller_changes"]
          /\ znodes'[StatePath].data.leader_epoch # State.leader_epoch => next.bounced = {}
          /\ (next.is_send_due /\ ~now.is_send_due) =>
                \/ znodes'[StatePath] # znodes[StatePath]
                \/ \E b \in differing : next.view[b] # 0
                \/ budget'["controller_changes"] < budget["controller_changes"]]_vars
=============================================================================
