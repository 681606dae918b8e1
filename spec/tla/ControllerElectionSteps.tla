---------------------- MODULE ControllerElectionSteps -----------------------
(* What an election, a person or the end of a session may change in one step *)
(* of `ControllerElection`.                                                  *)
EXTENDS ControllerElection

OnlyChanged(paths) == \A path \in Paths \ paths : znodes'[path] = znodes[path]
TermOf(b) ==
    [controller_id |-> b, session_id |-> candidates'[b].session_id,
     controller_epoch |-> candidates'[b].controller_epoch]

(* A broker comes into office by an election, where /controller is gone or   *)
(* of no session, or its own from a multi of which it heard nothing. The     *)
(* epoch is above the one before, and its term has a znode of its session.   *)
(* One that finds its own has its epoch with it, unless people wrote that.   *)
\* @req CTL-002
\* @req CTL-003
\* @req CTL-005
TermsBegin ==
    [][/\ terms \subseteq terms'
       /\ terms' # terms => \E b \in Brokers : candidates[b].status = "standing"
            /\ candidates'[b].status = "active" /\ terms' = terms \cup {TermOf(b)}
       /\ \A b \in Brokers : LET now == candidates[b] next == candidates'[b] IN
            now.status # "active" /\ next.status = "active" =>
            /\ heard'[b] = next.controller_epoch
            /\ candidates' = [candidates EXCEPT ![b] = next]
            /\ znodes'[TermPaths[next.controller_epoch]].ephemeral_owner = next.session_id
            /\ znodes' = znodes \/
                /\ next.controller_epoch > CurrentEpoch
                /\ elected' = [controller_id |-> b, session_id |-> now.session_id]
                /\ OnlyChanged({ControllerPath, ControllerEpochPath,
                                TermPaths[next.controller_epoch]})
                /\ ~Exists(znodes, TermPaths[next.controller_epoch])
                /\ IF znodes'[ControllerPath] = Controller
                   THEN budget["epoch_writes"] < Limits["epoch_writes"]
                   ELSE /\ znodes'[ControllerPath].data = <<b>>
                        /\ znodes'[ControllerPath].version = OfficeVersion
                /\ Exists(znodes, ControllerPath) =>
                    Controller.ephemeral_owner \in {NoSession, now.session_id}]_vars

(* A process ends by a crash, and the next one begins with a session of its  *)
(* own and the epoch that it reads. A session that is held ends by a fault,  *)
(* with what it owns and what was asked for under it.                        *)
\* @req CTL-001
\* @req START-001
ProcessesEndByFaults ==
    [][/\ \A b \in Brokers : LET now == candidates[b] next == candidates'[b] IN
            /\ now.status = "down" /\ next # now =>
                next = Candidate(last_session', CurrentEpoch) /\ heard'[b] = CurrentEpoch
                    /\ last_session' = last_session + 1
            /\ now.status # "down" /\ next.status = "down" =>
                next = [now EXCEPT !.status = "down"] /\ budget'["crashes"] < budget["crashes"]
            /\ next.known_epoch # now.known_epoch /\ now.status # "down" =>
                /\ next.known_epoch > now.known_epoch
                /\ \/ next.known_epoch = CurrentEpoch /\ now.session_id \in live_sessions
                   \/ next.status = "active"
                   \/ \E term \in terms : term.controller_epoch = next.known_epoch
            /\ heard'[b] < heard[b] => now.status = "down"
       /\ \A ended \in live_sessions \ live_sessions' :
            /\ live_sessions' = live_sessions \ {ended}
            /\ \A path \in Paths : znodes'[path] =
                IF znodes[path].ephemeral_owner = ended THEN Absent ELSE znodes[path]
            /\ requests' = {request \in requests : request.session_id # ended}
            /\ (\E b \in Brokers : candidates[b].status # "down" /\ candidates[b].session_id = ended)
                <=> budget'["expiries"] < budget["expiries"]]_vars

(* People delete /controller, write another name over it, or where none is,  *)
(* and write an epoch: each changes that znode alone. What is asked for and  *)
(* not heard of is an election of a candidate, or a write in office.         *)
\* @req CTL-013
AdministratorsAsk ==
    [][/\ budget'["deletions"] < budget["deletions"] =>
            /\ Exists(znodes, ControllerPath) /\ ~Exists(znodes', ControllerPath)
            /\ OnlyChanged({ControllerPath})
       /\ budget'["overwrites"] < budget["overwrites"] =>
            /\ OnlyChanged({ControllerPath})
            /\ znodes'[ControllerPath].ephemeral_owner =
                (IF Exists(znodes, ControllerPath) THEN Controller.ephemeral_owner ELSE NoSession)
            /\ znodes'[ControllerPath].version = Controller.version + 1
            /\ \E id \in Brokers \cup {NoBroker} : znodes'[ControllerPath].data = <<id>>
       /\ budget'["epoch_writes"] < budget["epoch_writes"] =>
            /\ OnlyChanged({ControllerEpochPath})
            /\ znodes'[ControllerEpochPath].version = EpochVersion + 1
            /\ \E epoch \in 0 .. CurrentEpoch : znodes'[ControllerEpochPath].data = <<epoch>>
       /\ \A request \in requests' \ requests :
            /\ requests' = requests \cup {request}
            /\ budget'["lost_replies"] < budget["lost_replies"]
            /\ request.session_id = candidates[request.from].session_id
            /\ request.session_id \in live_sessions
            /\ IF candidates[request.from].status = "standing"
               THEN request.kind = "election" /\ request.ops = Election(request.from)
               ELSE /\ candidates[request.from].status = "active" /\ request.kind = "write"
                    /\ request.controller_epoch = candidates[request.from].controller_epoch]_vars
=============================================================================
