------------------------- MODULE ControllerElection -------------------------
(* The controller's election: /controller, /controller_epoch, ZooKeeper      *)
(* sessions, and what a broker believes of all three. `LeaderAndIsr` has an  *)
(* abstract election, in which a session is the broker itself; here a broker *)
(* has one session after the other, replies are lost, and people write to    *)
(* /controller. What a controller does in office is one write and one        *)
(* command; the decisions themselves are `LeaderAndIsr`'s.                   *)
(*                                                                           *)
(* A pause is a broker that takes no step. Sessions are worst case: a client *)
(* library replaces an expired one and the broker acts on, so that its       *)
(* writes arrive under a live session although it lost the office.           *)
(*                                                                           *)
(* What ties a write to the election that its author won? A check in a multi *)
(* sees versions, not owners, and people delete and write /controller by     *)
(* hand as often as they like. So there are three checks:                    *)
(*   /controller_epoch by its version: no other has been elected since (H24).*)
(*   /controller by its version, which is 1 after the multi that elects,     *)
(*   since that writes it twice: what people make begins at 0 (H24c). It     *)
(*   stops a controller as soon as its znode is deleted or overwritten, not  *)
(*   only at the next election (H8).                                         *)
(*   The term, a third znode of that multi, ephemeral, with the epoch in its *)
(*   path. People never make that path, so that it is there exactly as long  *)
(*   as the session that was elected (H8d).                                  *)
(* The first and the third hold whatever people do: OnlyControllerWrites.    *)
(* The second can be fooled by a person that deletes /controller, makes it   *)
(* and writes it once more, for no version is out of reach of writes by      *)
(* hand: OnlyOwnerWrites. What passes then is still the controller that was  *)
(* elected last, and its session lives.                                      *)
EXTENDS Znodes, FiniteSets, TLC

CONSTANTS
    Brokers,        \* 1 .. n; every broker is a candidate and obeys commands
    Limits          \* how often each bounded thing may happen

VARIABLES
    znodes,         \* the tree
    live_sessions,  \* those that ZooKeeper has not ended
    last_session,   \* the latest session id
    candidates,     \* per broker its session, its office, and the epoch it knows
    requests,       \* multis of which the author lost sight; they arrive late or never
    terms,          \* of all that took office: their commands arrive at any time
    budget,         \* what is left of Limits
    decided_epoch,  \* history: the epoch of the controller that wrote last
    elected,        \* history: the session that was elected last, and by which broker
    heard,          \* history: the largest epoch that a broker was elected with, read or obeyed
    breaches        \* history: acts that no rule allows

beliefs == <<candidates, terms>>
history == <<decided_epoch, elected, heard, breaches>>
vars == <<znodes, live_sessions, last_session, requests, budget, beliefs, history>>

NoBroker == -1
ControllerPath == "/controller"
ControllerEpochPath == "/controller_epoch"

(* No more elections than one, one for each fault, and one for each multi    *)
(* that comes late; a mutant begins one higher.                              *)
Epochs ==
    0 .. 3 + Limits["crashes"] + Limits["expiries"] + 2 * Limits["lost_replies"]
           + Limits["deletions"] + Limits["overwrites"] + 3 * Limits["epoch_writes"]
TermPaths == [e \in Epochs |-> ControllerEpochPath \o "/" \o ToString(e)]
Paths == {ControllerPath, ControllerEpochPath} \cup {TermPaths[e] : e \in Epochs}

Apply(ops) == Multi(znodes, ops, 0)

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

Breach(invariant, actor, is_breached) ==
    IF is_breached THEN {[invariant |-> invariant, actor |-> actor]} ELSE {}

Controller == znodes[ControllerPath]

(* The text calls 1 the initial value of the epoch, and the epoch of the     *)
(* first controller. It is the latter: before it there is no epoch (CTL-005).*)
EpochBeforeTheFirst == 0

CurrentEpoch ==
    IF Exists(znodes, ControllerEpochPath) THEN znodes[ControllerEpochPath].data[1]
    ELSE EpochBeforeTheFirst

IsRunning(b) == candidates[b].status # "down"
IsConnected(b) == candidates[b].session_id \in live_sessions
IsActive(b) == candidates[b].status = "active"
IsOwner(b) ==
    Exists(znodes, ControllerPath) /\ Controller.ephemeral_owner = candidates[b].session_id

(* Of /controller once the multi that elects has created and written it.     *)
OfficeVersion == 1

OfficeCheck == <<CheckOp(ControllerPath, OfficeVersion)>>

(* It was overwritten: the broker with the session that owns it is not the   *)
(* one that it names, or it names none.                                      *)
IsOverwritten == Controller.version > OfficeVersion

(* The end of no session will ever remove it.                                *)
IsForeign == Exists(znodes, ControllerPath) /\ Controller.ephemeral_owner = NoSession

Candidate(session_id, known_epoch) ==
    [status |-> "standing", session_id |-> session_id, controller_epoch |-> 0,
     epoch_version |-> -1, known_epoch |-> known_epoch]

Init ==
    /\ znodes = [path \in Paths |-> Absent]
    /\ live_sessions = Brokers
    /\ last_session = Cardinality(Brokers)
    /\ candidates = [b \in Brokers |-> Candidate(b, 0)]
    /\ requests = {}
    /\ terms = {}
    /\ budget = Limits
    /\ decided_epoch = 0
    /\ elected = [controller_id |-> NoBroker, session_id |-> NoSession]
    /\ heard = [b \in Brokers |-> 0]
    /\ breaches = {}

-----------------------------------------------------------------------------
(* Processes and sessions *)

(* The process stops. Its session, and with it /controller, lives on until   *)
(* ZooKeeper ends it.                                                        *)
CrashBroker(b) ==
    /\ Spend("crashes")
    /\ IsRunning(b)
    /\ candidates' = [candidates EXCEPT ![b].status = "down"]
    /\ UNCHANGED <<znodes, live_sessions, last_session, requests, terms, history>>

(* A new process of the same broker, with a new session, perhaps before the  *)
(* old one has ended, or never. It reads the controller epoch before it      *)
(* obeys any command.                                                        *)
RestartBroker(b) ==
    /\ ~IsRunning(b)
    /\ last_session' = last_session + 1
    /\ live_sessions' = live_sessions \cup {last_session + 1}
    /\ candidates' = [candidates EXCEPT ![b] = Candidate(last_session + 1, CurrentEpoch)]
    /\ heard' = [heard EXCEPT ![b] = CurrentEpoch]
    /\ UNCHANGED <<znodes, requests, terms, budget, decided_epoch, elected, breaches>>

(* The client library replaces a session that has ended. The broker is not   *)
(* told, and whatever it believed it believes still.                         *)
CreateSession(b) ==
    /\ IsRunning(b)
    /\ ~IsConnected(b)
    /\ last_session' = last_session + 1
    /\ live_sessions' = live_sessions \cup {last_session + 1}
    /\ candidates' = [candidates EXCEPT ![b].session_id = last_session + 1]
    /\ UNCHANGED <<znodes, requests, terms, budget, history>>

(* With the session goes what was asked under it and has not been done.      *)
End(session_id) ==
    /\ live_sessions' = live_sessions \ {session_id}
    /\ znodes' = WithoutSession(znodes, session_id)
    /\ requests' = {request \in requests : request.session_id # session_id}

Held == {candidates[b].session_id : b \in {b \in Brokers : IsRunning(b)}}

(* A session without process ends by itself.                                 *)
ExpireOrphan == \E s \in live_sessions \ Held : End(s) /\ UNCHANGED budget

(* That of a silent process, too, and that is a fault.                       *)
ExpireSession ==
    /\ \/ ExpireOrphan
       \/ Spend("expiries") /\ \E s \in live_sessions \cap Held : End(s)
    /\ UNCHANGED <<last_session, beliefs, history>>

-----------------------------------------------------------------------------
(* The election *)

(* The version of the epoch that was read before.                            *)
EpochVersion == znodes[ControllerEpochPath].version

(* The first epoch is 1, at version 0, and each election writes the znode    *)
(* once: an epoch is larger than its version, unless people wrote a smaller  *)
(* one by hand. That is no epoch to go on from: it had its controller. No    *)
(* election was at the version of that, so that none had a larger epoch.     *)
EpochsBefore == EpochVersion
RaisedEpoch == (IF CurrentEpoch < EpochsBefore THEN EpochsBefore ELSE CurrentEpoch) + 1
IsOfElection == CurrentEpoch > EpochsBefore

RaiseEpoch ==
    IF Exists(znodes, ControllerEpochPath)
    THEN SetDataOp(ControllerEpochPath, <<RaisedEpoch>>, EpochVersion)
    ELSE CreateOp(ControllerEpochPath, <<RaisedEpoch>>, NoSession)

TakeOffice(b) ==
    <<CreateOp(ControllerPath, <<b>>, candidates[b].session_id),
      SetDataOp(ControllerPath, <<b>>, 0)>>
BeginTerm(b) == CreateOp(TermPaths[RaisedEpoch], <<>>, candidates[b].session_id)

(* Create /controller, raise the epoch and create the term, all or nothing.  *)
(* A persistent znode in the place of /controller is deleted in the same     *)
(* multi: a create alone would fail for ever. That the multi raises the      *)
(* epoch that was read before also tells that the znode is the one that was  *)
(* read, and that the multi is not one that comes late.                      *)
Removal == IF IsForeign THEN <<DeleteOp(ControllerPath, Controller.version)>> ELSE <<>>
Election(b) == Removal \o TakeOffice(b) \o <<RaiseEpoch, BeginTerm(b)>>

InOffice(b, controller_epoch, epoch_version) ==
    /\ candidates' = [candidates EXCEPT
                        ![b].status = "active", ![b].controller_epoch = controller_epoch,
                        ![b].epoch_version = epoch_version, ![b].known_epoch = controller_epoch]
    /\ terms' = terms \cup {[controller_id |-> b, session_id |-> candidates[b].session_id,
                             controller_epoch |-> controller_epoch]}
    /\ heard' = [heard EXCEPT ![b] = controller_epoch]

IsElected(b) == elected' = [controller_id |-> b, session_id |-> candidates[b].session_id]

WinElection(b) ==
    LET written == Apply(Election(b))
    IN /\ candidates[b].status = "standing"
       /\ written.ok
       /\ znodes' = written.tree
       /\ InOffice(b, RaisedEpoch, written.tree[ControllerEpochPath].version)
       /\ IsElected(b)

(* /controller is this broker's already: the reply to its multi was lost.    *)
(* Its own is what its own session owns, not what carries its name. The      *)
(* epoch is from the same multi, or /controller would be another's by now;   *)
(* one that people wrote is raised once more. (The core compares the         *)
(* transactions of the two znodes. Here one that follows such an epoch is    *)
(* raised too often, which does no harm.)                                    *)
IsOwnOffice(b) == IsOwner(b)

FindOwnOffice(b) ==
    /\ candidates[b].status = "standing"
    /\ Exists(znodes, ControllerPath)
    /\ ~IsOverwritten
    /\ IsOwnOffice(b)
    /\ IsOfElection
    /\ InOffice(b, CurrentEpoch, znodes[ControllerEpochPath].version)
    /\ UNCHANGED <<znodes, elected>>

RaiseOnceMore(b) ==
    LET written == Apply(OfficeCheck \o <<RaiseEpoch, BeginTerm(b)>>)
    IN /\ candidates[b].status = "standing"
       /\ Exists(znodes, ControllerPath)
       /\ IsOwnOffice(b)
       /\ ~IsOfElection
       /\ written.ok
       /\ znodes' = written.tree
       /\ InOffice(b, RaisedEpoch, written.tree[ControllerEpochPath].version)
       /\ IsElected(b)

(* A broker that finds no /controller stands, and the one with the multi     *)
(* that succeeds is controller (CTL-002, CTL-003). Whoever finds another's   *)
(* waits for its watch, which here is the guard.                             *)
Elects(b) == WinElection(b) \/ FindOwnOffice(b) \/ RaiseOnceMore(b)

ElectController(b) ==
    /\ IsConnected(b)
    /\ Elects(b)
    /\ UNCHANGED <<live_sessions, last_session, requests, budget, decided_epoch, breaches>>

Resigned(b) == [candidates EXCEPT ![b].status = "standing"]

(* A controller that sees /controller gone, another's, or of a session that  *)
(* it no longer has, forgets everything (CTL-008). One that finds its own    *)
(* overwritten deletes it before it stands again: no other broker would.     *)
IsLost(b) == IsActive(b) /\ ~IsOwner(b)
IsSpoilt(b) == IsRunning(b) /\ IsOwner(b) /\ IsConnected(b) /\ IsOverwritten
MustResign(b) == IsLost(b) \/ IsSpoilt(b)
WithoutSpoilt(b) ==
    IF IsSpoilt(b) THEN Apply(<<DeleteOp(ControllerPath, Controller.version)>>).tree ELSE znodes

ResignController(b) ==
    /\ MustResign(b)
    /\ candidates' = Resigned(b)
    /\ znodes' = WithoutSpoilt(b)
    /\ UNCHANGED <<live_sessions, last_session, requests, terms, budget, history>>

-----------------------------------------------------------------------------
(* What a controller does, and what brokers take from it *)

(* What every write of a controller checks in its own multi (ZK-005, H8):    *)
(* see above. The decision itself is left out.                               *)
EpochCheck(b) == <<CheckOp(ControllerEpochPath, candidates[b].epoch_version)>>
TermCheck(b) == <<CheckOp(TermPaths[candidates[b].controller_epoch], AnyVersion)>>
Fence(b) == EpochCheck(b) \o OfficeCheck \o TermCheck(b)

(* History: /controller is what the last election made of it, as far as a    *)
(* person has not made it anew.                                              *)
IsUnderLastSession == elected.session_id \in live_sessions
IsOfLastElection ==
    Controller.ephemeral_owner = elected.session_id /\ Controller.data = <<elected.controller_id>>

WriteBreaches(b) ==
    LET is_deposed == elected.controller_id # b \/ ~IsUnderLastSession
    IN Breach("StaleControllerHarmless", b, elected.controller_id # b)
        \cup Breach("OnlyControllerWrites", b, is_deposed \/ ~(IsOfLastElection \/ IsForeign))
        \cup Breach("OnlyOwnerWrites", b, is_deposed \/ ~IsOfLastElection)

(* One fenced write of any kind. A controller resigns when its write is      *)
(* refused (ZK-005).                                                         *)
PublishDecision(b) ==
    LET is_done == IsConnected(b) /\ Apply(Fence(b)).ok
    IN /\ IsActive(b)
       /\ decided_epoch' = IF is_done THEN candidates[b].controller_epoch ELSE decided_epoch
       /\ candidates' = IF is_done THEN candidates ELSE Resigned(b)
       /\ breaches' = breaches \cup (IF is_done THEN WriteBreaches(b) ELSE {})
       /\ UNCHANGED <<znodes, live_sessions, last_session, requests, terms, budget, elected, heard>>

(* A newer epoch means another controller: the broker adopts it, and gives   *)
(* up the office that it believed to have (CTL-007).                         *)
IsReplaced(b, controller_epoch) == candidates[b].controller_epoch < controller_epoch

Knowing(b, controller_epoch) ==
    [candidates EXCEPT
        ![b].known_epoch = controller_epoch,
        ![b].status = IF IsReplaced(b, controller_epoch) THEN "standing" ELSE @]

Hears(b, controller_epoch) ==
    heard' = [heard EXCEPT ![b] = IF controller_epoch > @ THEN controller_epoch ELSE @]

(* A broker reads in ZooKeeper which broker is controller (CTL-004), as late *)
(* as it likes. Only the epoch is kept: the id serves clients.               *)
LearnController(b) ==
    /\ IsRunning(b)
    /\ IsConnected(b)
    /\ candidates[b].known_epoch < CurrentEpoch
    /\ candidates' = Knowing(b, CurrentEpoch)
    /\ Hears(b, CurrentEpoch)
    /\ UNCHANGED <<znodes, live_sessions, last_session, requests, terms, budget, decided_epoch,
                   elected, breaches>>

(* A command of any controller, past or present, arrives, and is obeyed      *)
(* unless its epoch is smaller than the one known (CTL-006). What it says is *)
(* left out: here it stands for every kind of command.                       *)
IsOlder(b, controller_epoch) == controller_epoch < candidates[b].known_epoch
AfterObeying(b, controller_epoch) == Knowing(b, controller_epoch)

BecomeFollower(b) ==
    /\ IsRunning(b)
    /\ \E term \in terms :
          /\ ~IsOlder(b, term.controller_epoch)
          /\ candidates' = AfterObeying(b, term.controller_epoch)
          /\ Hears(b, term.controller_epoch)
          /\ breaches' = breaches \cup
                Breach("StaleControllerHarmless", b, term.controller_epoch < heard[b])
    /\ UNCHANGED <<znodes, live_sessions, last_session, requests, terms, budget, decided_epoch,
                   elected>>

-----------------------------------------------------------------------------
(* What the network loses *)

Request(b, kind, ops) ==
    [kind |-> kind, from |-> b, session_id |-> candidates[b].session_id, ops |-> ops,
     controller_epoch |-> candidates[b].controller_epoch]

(* A broker loses its connection, and does not hear what became of a multi:  *)
(* of its election, or of a write in office. The session lives on.           *)
LoseReply ==
    /\ Spend("lost_replies")
    /\ \E b \in Brokers :
          /\ IsConnected(b)
          /\ \/ /\ candidates[b].status = "standing"
                /\ requests' = requests \cup {Request(b, "election", Election(b))}
             \/ /\ IsActive(b)
                /\ requests' = requests \cup {Request(b, "write", Fence(b))}
    /\ UNCHANGED <<znodes, live_sessions, last_session, beliefs, history>>

(* ZooKeeper comes to it, at once or later, as long as the session lives:    *)
(* its author may have read and written since, and may even be another       *)
(* process. (ZooKeeper refuses it once the session has moved to another      *)
(* server. Here nothing rests on that.) If it does not, the request is lost. *)
ApplyRequest ==
    /\ \E request \in requests :
          LET written == Apply(request.ops)
          IN /\ requests' = requests \ {request}
             /\ znodes' = written.tree
             /\ IF written.ok /\ request.kind = "election"
                THEN elected' = [controller_id |-> request.from, session_id |-> request.session_id]
                ELSE UNCHANGED elected
             /\ IF written.ok /\ request.kind = "write"
                THEN /\ decided_epoch' = request.controller_epoch
                     /\ breaches' = breaches \cup WriteBreaches(request.from)
                ELSE UNCHANGED <<decided_epoch, breaches>>
    /\ UNCHANGED <<live_sessions, last_session, beliefs, budget, heard>>

-----------------------------------------------------------------------------
(* People *)

(* The text recommends it: an operator deletes /controller to force an       *)
(* election. The owner's session lives.                                      *)
DeleteController ==
    /\ Spend("deletions")
    /\ Exists(znodes, ControllerPath)
    /\ znodes' = [znodes EXCEPT ![ControllerPath] = Absent]
    /\ UNCHANGED <<live_sessions, last_session, requests, beliefs, history>>

(* The text recommends this too: an operator writes a brokerid by hand, over *)
(* what is there, or as a persistent znode where nothing is. Content that    *)
(* cannot be read is the same with NoBroker.                                 *)
OverwriteController ==
    /\ Spend("overwrites")
    /\ \E brokerid \in Brokers \cup {NoBroker} :
          LET write == IF Exists(znodes, ControllerPath)
                       THEN SetDataOp(ControllerPath, <<brokerid>>, AnyVersion)
                       ELSE CreateOp(ControllerPath, <<brokerid>>, NoSession)
          IN znodes' = Apply(<<write>>).tree
    /\ UNCHANGED <<live_sessions, last_session, requests, beliefs, history>>

(* No text recommends that they write an epoch. A larger one is no harm.     *)
WriteEpoch ==
    /\ Spend("epoch_writes")
    /\ Exists(znodes, ControllerEpochPath)
    /\ \E epoch \in 0 .. CurrentEpoch :
          znodes' = Apply(<<SetDataOp(ControllerEpochPath, <<epoch>>, AnyVersion)>>).tree
    /\ UNCHANGED <<live_sessions, last_session, requests, beliefs, history>>

-----------------------------------------------------------------------------
Next ==
    \/ \E b \in Brokers : CrashBroker(b)
    \/ \E b \in Brokers : RestartBroker(b)
    \/ \E b \in Brokers : CreateSession(b)
    \/ \E b \in Brokers : ElectController(b)
    \/ \E b \in Brokers : ResignController(b)
    \/ \E b \in Brokers : PublishDecision(b)
    \/ \E b \in Brokers : LearnController(b)
    \/ \E b \in Brokers : BecomeFollower(b)
    \/ ExpireSession
    \/ LoseReply
    \/ ApplyRequest
    \/ DeleteController
    \/ OverwriteController
    \/ WriteEpoch

(* Faults are bounded; sessions are replaced, those of the dead end, and     *)
(* brokers do not pause for ever. That a dead one returns is not asked for,  *)
(* nor that a lost request is ever done.                                     *)
ExpireAbandoned == ExpireOrphan /\ UNCHANGED <<last_session, beliefs, history>>

Fairness ==
    /\ WF_vars(ExpireAbandoned)
    /\ \A b \in Brokers :
          /\ WF_vars(CreateSession(b))
          /\ WF_vars(ElectController(b))
          /\ WF_vars(ResignController(b))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
Sessions == 0 .. last_session

TypeOK ==
    /\ \A path \in Paths :
          /\ znodes[path].version >= -1
          /\ znodes[path].ephemeral_owner \in {NoSession} \cup live_sessions
    /\ CurrentEpoch + 1 \in Epochs
    /\ last_session <= Cardinality(Brokers) + Limits["crashes"] + Limits["expiries"]
    /\ live_sessions \subseteq Sessions
    /\ candidates \in [Brokers -> [status : {"down", "standing", "active"},
                                  session_id : Sessions, controller_epoch : Epochs,
                                  epoch_version : -1 .. Cardinality(Epochs), known_epoch : Epochs]]
    /\ \A request \in requests :
          request.kind \in {"election", "write"} /\ request.session_id \in live_sessions
    /\ terms \subseteq [controller_id : Brokers, session_id : Sessions, controller_epoch : Epochs]
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]
    /\ elected.controller_id \in Brokers \cup {NoBroker}
    /\ heard \in [Brokers -> Epochs]

IsCleanOf(invariant) == \A breach \in breaches : breach.invariant # invariant

(* No two terms have one epoch; a broker with two sessions has two terms,    *)
(* for what its former process sent is not what the new one sends.           *)
\* @req CTL-002
\* @req CTL-005
OneControllerPerEpoch ==
    \A term, other \in terms : term.controller_epoch = other.controller_epoch => term = other

(* Whoever owns /controller has a larger epoch than any that merely believes *)
(* to be controller: brokers will refuse the latter, not the former.         *)
\* @req CTL-005
\* @req CTL-013
ZombieEpochLower ==
    \A b, zombie \in Brokers :
        (b # zombie /\ IsActive(b) /\ IsActive(zombie) /\ IsOwner(b)) =>
            candidates[zombie].controller_epoch < candidates[b].controller_epoch

(* A deposed controller's writes fail, and a broker that has heard of its    *)
(* successor does not obey it.                                               *)
\* @req ZK-005
\* @req CTL-006
\* @req CTL-013
StaleControllerHarmless == IsCleanOf("StaleControllerHarmless")

(* Whatever people and the network do, a controller's write takes effect     *)
(* only if it was elected last and its session of then lives, and never      *)
(* while /controller is gone or has another name written over its own.       *)
\* @req ZK-005
OnlyControllerWrites == IsCleanOf("OnlyControllerWrites")

(* As long as people write by hand once at most, /controller is its own as   *)
(* well. More often they can give theirs any version (see above).            *)
\* @req ZK-005
OnlyOwnerWrites == IsCleanOf("OnlyOwnerWrites")

(* What takes effect is of ever later controllers.                           *)
\* @req CTL-013
DecidedEpochMonotonic == [][decided_epoch' >= decided_epoch]_vars

(* 1 for the first controller and one more for each election: every write of *)
(* the epoch is one election.                                                *)
\* @req CTL-005
EpochCountsElections ==
    Exists(znodes, ControllerEpochPath) =>
        znodes[ControllerEpochPath].data[1] = znodes[ControllerEpochPath].version + 1

(* No broker acts as controller after it has heard of a later one.           *)
\* @req CTL-007
ResignsOnNewerEpoch ==
    \A b \in Brokers : IsActive(b) =>
        \E term \in terms : term.controller_id = b /\ term.controller_epoch = heard[b]

(* A session is a new one, of a broker that has none, and ends for good.     *)
\* @req CTL-008
SessionsAreNew ==
    [][/\ last_session' \in {last_session, last_session + 1}
       /\ live_sessions' \ live_sessions = (last_session + 1) .. last_session'
       /\ last_session' > last_session => \E b \in Brokers :
            /\ candidates'[b].session_id = last_session'
            /\ ~IsRunning(b) \/ ~IsConnected(b)
       /\ \A b \in Brokers : candidates'[b].session_id # candidates[b].session_id =>
            candidates'[b].session_id = last_session' /\ last_session' > last_session]_vars

(* A term begins with a /controller of its own, as the election made it, and *)
(* an epoch of its own.                                                      *)
\* @req CTL-002
\* @req CTL-005
OfficeIsOwn ==
    [][\A b \in Brokers : LET now == candidates[b] next == candidates'[b] IN
        now.status # "active" /\ next.status = "active" =>
            /\ now.status = "standing"
            /\ next.session_id = now.session_id /\ now.session_id \in live_sessions
            /\ znodes'[ControllerPath] = [data |-> <<b>>, version |-> OfficeVersion, czxid |-> 0,
                                          ephemeral_owner |-> next.session_id]
            /\ znodes'[ControllerEpochPath].data = <<next.controller_epoch>>
            /\ znodes'[ControllerEpochPath].version = next.epoch_version
            /\ next.known_epoch = next.controller_epoch
            /\ [controller_id |-> b, session_id |-> next.session_id,
                controller_epoch |-> next.controller_epoch] \in terms']_vars

(* A controller with /controller in its session, as its election made it,    *)
(* stays until it dies or hears of another epoch. One process learns no      *)
(* smaller epoch than it knows.                                              *)
\* @req CTL-007
\* @req CTL-008
NothingIsReplaced ==
    [][\A b \in Brokers : LET now == candidates[b] next == candidates'[b] IN
        /\ now.status # "down" /\ next.status # "down" => next.known_epoch >= now.known_epoch
        /\ now.status = "active" =>
            \/ next.status = "active"
               /\ next.controller_epoch = now.controller_epoch
               /\ next.epoch_version = now.epoch_version
            \/ next.status = "down" /\ budget' # budget
            \/ next.status = "standing" /\
                (\/ heard'[b] > now.controller_epoch
                 \/ Controller # [data |-> <<b>>, version |-> OfficeVersion, czxid |-> 0,
                                  ephemeral_owner |-> now.session_id]
                 \/ now.session_id \notin live_sessions
                 \/ znodes[ControllerEpochPath].version # now.epoch_version)]_vars

(* What comes late comes once. But for elections, people and sessions that   *)
(* end, ZooKeeper changes where a request arrives, or where a broker deletes *)
(* a /controller that is its own and was written over, and stands again.     *)
\* @req ZK-006
RequestsComeOnce ==
    [][/\ \A request \in requests \ requests' : request.session_id \in live_sessions' =>
            requests' = requests \ {request}
       /\ znodes' # znodes /\ UNCHANGED <<live_sessions, terms, budget>> =>
            \/ requests' # requests
            \/ \E b \in Brokers : Controller.ephemeral_owner = candidates[b].session_id
                    /\ IsOverwritten /\ ~Exists(znodes', ControllerPath)
                    /\ candidates' = [candidates EXCEPT ![b].status = "standing"]]_vars

IsInOffice(b) == IsActive(b) /\ IsConnected(b) /\ IsOwner(b) /\ Apply(Fence(b)).ok

(* As long as any broker runs there is again and again a controller with     *)
(* writes that succeed, also after its predecessor has died for good.        *)
\* @req CTL-009
ControllerEventuallyExists ==
    <>[](\E b \in Brokers : IsRunning(b)) => []<>(\E b \in Brokers : IsInOffice(b))

-----------------------------------------------------------------------------
(* What must be possible *)

IsPast(what) == budget[what] < Limits[what]

(* A second controller decides, and every broker has heard of it.            *)
SuccessorDecides == decided_epoch > 1 /\ \E b \in Brokers : IsInOffice(b)
SuccessorIsHeard ==
    CurrentEpoch > 1 /\ \A b \in Brokers :
        heard[b] = CurrentEpoch /\ candidates[b].known_epoch = CurrentEpoch

(* Each broker has had the office, whoever began.                            *)
OfficeGoesRound == \A b \in Brokers : \E term \in terms : term.controller_id = b

(* A deposed controller still believes in its office, or has given it up for *)
(* a later one.                                                              *)
ZombieBelieves ==
    \E b, zombie \in Brokers : b # zombie /\ IsInOffice(b) /\ IsActive(zombie)
ZombieIsToldOfSuccessor ==
    \E b, former \in Brokers :
        /\ b # former /\ IsInOffice(b) /\ ~IsActive(former) /\ heard[former] = CurrentEpoch
        /\ \E term \in terms : term.controller_id = former

(* The office falls vacant after an election.                                *)
OfficeIsVacant == terms # {} /\ ~Exists(znodes, ControllerPath)

(* A session that has no process any more still owns the office.             *)
DeadControllerOwnsOffice ==
    \E b \in Brokers : ~IsRunning(b) /\ IsOwner(b) /\ IsConnected(b)

(* A broker wins under a session that is not its first.                      *)
WinsUnderLaterSession ==
    \E b \in Brokers : IsInOffice(b) /\ candidates[b].session_id > Cardinality(Brokers)

(* An election is won that its author does not know of.                      *)
WinnerDoesNotKnow ==
    \E b \in Brokers : IsOwner(b) /\ IsConnected(b) /\ candidates[b].status = "standing"

(* A write that comes late takes effect, or meets its fence.                 *)
LateWritePasses == \E one \in requests : one.kind = "write" /\ Apply(one.ops).ok
LateWriteIsFenced == \E one \in requests : one.kind = "write" /\ ~Apply(one.ops).ok
LateElectionIsFenced == \E one \in requests : one.kind = "election" /\ ~Apply(one.ops).ok

(* A write is refused while /controller is still the author's: it then       *)
(* stands again.                                                             *)
RefusedControllerStands ==
    \E b \in Brokers :
        /\ candidates[b].status = "standing" /\ IsOwner(b) /\ ~IsOverwritten
        /\ \E term \in terms :
            term.controller_id = b /\ term.session_id = Controller.ephemeral_owner

(* People delete the office, and another election follows.                   *)
DeletedOfficeIsTakenAgain ==
    IsPast("deletions") /\ CurrentEpoch > 1 /\ \E b \in Brokers : IsInOffice(b)

(* People write over the office, or make one that no session owns; both are  *)
(* removed.                                                                  *)
OfficeIsSpoilt == \E b \in Brokers : IsSpoilt(b)
OfficeIsForeign == IsForeign
OfficeIsUnreadable == Exists(znodes, ControllerPath) /\ Controller.data = <<NoBroker>>
SpoiltOfficeIsTakenAgain ==
    IsPast("overwrites") /\ CurrentEpoch > 1 /\ \E b \in Brokers : IsInOffice(b)
ForeignOfficeIsTaken == IsPast("overwrites") /\ CurrentEpoch = 1 /\ \E b \in Brokers : IsInOffice(b)
=============================================================================
