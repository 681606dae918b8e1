------------------------------- MODULE ZkSteps ------------------------------
(* What one transaction of `Zk` does, said of the znodes and not of the code *)
(* that serves it: which requests take effect, which are refused, and what   *)
(* their authors hear.                                                       *)
EXTENDS Zk

WrittenBy(r) == r.ops[Len(r.ops)]
PathOf(r) == WrittenBy(r).path

(* The check of the fence, and the write, both fit what is there.            *)
IsFenceMet(r) == Len(r.ops) = 1 \/ (Exists(znodes, Fence) /\ znodes[Fence].version = r.ops[1].version)
IsWriteMet(r) ==
    IF WrittenBy(r).op = "create" THEN ~Exists(znodes, PathOf(r))
    ELSE Exists(znodes, PathOf(r)) /\ znodes[PathOf(r)].version = WrittenBy(r).version
IsMet(r) == r.session_id \in LiveSessions /\ IsFenceMet(r) /\ IsWriteMet(r)

IsDone(r) ==
    LET before == znodes[PathOf(r)]
        after == znodes'[PathOf(r)]
    IN CASE WrittenBy(r).op = "create" ->
                after = [data |-> r.number, version |-> 0, czxid |-> zxid + 1,
                         ephemeral_owner |-> WrittenBy(r).ephemeral_owner]
         [] WrittenBy(r).op = "set_data" ->
                after = [before EXCEPT !.data = r.number, !.version = before.version + 1]
         [] OTHER -> after = Absent

(* A request that fits takes effect when it is served, as one transaction on *)
(* its own znode, and is remembered as what it was; one that does not changes*)
(* nothing. Its author hears which, if it waits and the answer arrives.      *)
\* @req ZK-003
\* @req ZK-005
\* @req ZK-006
RequestsAreServed ==
    [][\A r \in requests \ requests' :
        LET now == results[r.client]
            next == results'[r.client]
            is_waited_for == now.outcome = "waiting" /\ now.asked = <<r>>
            is_lost == budget'["lost_requests"] < budget["lost_requests"]
            is_unheard == budget'["lost_replies"] < budget["lost_replies"]
        IN /\ \A path \in Paths \ {PathOf(r)} : znodes'[path] = znodes[path]
           /\ IF is_lost \/ ~IsMet(r) THEN UNCHANGED <<znodes, zxid, history>>
              ELSE /\ IsDone(r) /\ zxid' = zxid + 1
                   /\ \E entry \in history' \ history :
                        /\ history' = history \cup {entry}
                        /\ entry.zxid = zxid + 1 /\ entry.op = WrittenBy(r).op
                        /\ entry.path = PathOf(r) /\ entry.session_id = r.session_id
                        /\ entry.czxid = (IF entry.op = "create" THEN zxid + 1
                                          ELSE znodes[PathOf(r)].czxid)
           /\ next.asked = now.asked
           /\ next.outcome = (IF ~is_waited_for THEN now.outcome
                              ELSE IF is_lost \/ is_unheard THEN "unknown"
                              ELSE IF IsMet(r) THEN "ok" ELSE "refused")
           /\ ~is_lost => next.effect = (IF IsMet(r) /\ now.asked = <<r>> THEN zxid + 1 ELSE now.effect)
           /\ \A c \in Clients \ {r.client} : results'[c] = results[c]
           /\ UNCHANGED <<sessions, abandoned, lives>>]_vars

(* A client asks for one write of what it sees: a create where nothing is, or*)
(* else a write of the version that is there, alone or behind the fence.     *)
\* @req ZK-003
\* @req ZK-005
CommandsTellWhatIs ==
    [][\A r \in requests' \ requests :
        LET op == WrittenBy(r) IN
        /\ requests' = requests \cup {r}
        /\ r.session_id = sessions[r.client].session_id /\ r.session_id # NoSession
        /\ r.seen = znodes[op.path]
        /\ r.number = budget["writes"] /\ budget'["writes"] < budget["writes"]
        /\ op.op = "create" <=> ~Exists(znodes, op.path)
        /\ op.op = "create" => op.ephemeral_owner \in {NoSession, r.session_id}
        /\ op.op # "create" => op.version = znodes[op.path].version
        /\ Len(r.ops) = 2 => r.ops[1] = CheckOp(Fence, znodes[Fence].version)
        /\ results' = [results EXCEPT ![r.client] = results'[r.client]]
        /\ results'[r.client].asked = <<r>> /\ results'[r.client].effect = 0
        /\ UNCHANGED <<znodes, zxid, sessions, abandoned, history, lives>>]_vars

(* A session ends once, for its client's wish, its silence or its departure, *)
(* and takes with it what it owned, and nothing else. What its author waited *)
(* for it does not know; it learns it by reading alone.                      *)
\* @req CTL-001
\* @req ZK-006
SessionsEnd ==
    [][/\ \A ended \in LiveSessions \ LiveSessions' :
            /\ LiveSessions' = LiveSessions \ {ended}
            /\ \A path \in Paths : znodes'[path] =
                IF znodes[path].ephemeral_owner = ended THEN Absent ELSE znodes[path]
            /\ UNCHANGED <<requests, history, results>>
            /\ \A c \in Clients : sessions[c].session_id = ended /\ sessions[c].is_live =>
                budget'["closes"] + budget'["expiries"] < budget["closes"] + budget["expiries"]
       /\ budget'["abandonments"] < budget["abandonments"] => \E c \in Clients :
            /\ sessions[c].is_live /\ sessions'[c].session_id = NoSession
            /\ abandoned' = [abandoned EXCEPT ![c] = @ \cup {sessions[c].session_id}]
            /\ results'[c].outcome # "waiting"
            /\ UNCHANGED <<znodes, zxid, requests, history, lives>>
       /\ \A c \in Clients : LET now == results[c] next == results'[c] IN
            now.outcome # next.outcome /\ requests' = requests /\ next.asked = now.asked =>
                /\ next = [now EXCEPT !.outcome = next.outcome]
                /\ UNCHANGED <<znodes, history>>
                /\ now.outcome = "unknown" => UNCHANGED <<sessions, zxid, budget>>
                /\ now.outcome = "waiting" => next.outcome = "unknown" /\ budget' # budget]_vars
=============================================================================
