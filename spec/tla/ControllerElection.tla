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
EXTENDS Znodes, FiniteSets

CONSTANTS
    Brokers,        \* 1 .. n; every broker is a candidate and obeys commands
    Limits,         \* how often each bounded thing may happen
    mutants         \* rules that are broken on purpose; {} is the protocol

VARIABLES
    znodes,         \* the tree
    live_sessions,  \* those that ZooKeeper has not ended
    last_session,   \* the latest session id
    candidates,     \* per broker its session, its office, and the epoch it knows
    terms,          \* history: all controllers; commands arrive at any time
    decided_epoch,  \* the epoch of the controller that wrote last
    budget,         \* what is left of Limits
    breaches        \* history: acts that no rule allows

vars == <<znodes, live_sessions, last_session, candidates, terms, decided_epoch, budget, breaches>>

ControllerElectionMutants ==
    {"two_step_controller_election", "accept_older_controller_epoch",
     "forget_own_controller_znode", "own_name_is_own_session", "no_controller_epoch_check",
     "no_controller_znode_check", "resign_on_expiry_only", "controller_epoch_not_raised",
     "absent_epoch_is_one", "ignore_newer_controller_epoch", "create_over_foreign_znode",
     "keep_overwritten_znode"}

Has(mutant) == mutant \in mutants

NoBroker == -1
ControllerPath == "/controller"
ControllerEpochPath == "/controller_epoch"

Apply(ops) == Multi(znodes, ops, 0)

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

Breach(invariant, actor, is_breached) ==
    IF is_breached THEN {[invariant |-> invariant, actor |-> actor]} ELSE {}

Controller == znodes[ControllerPath]

(* The text calls 1 the initial value of the epoch, and the epoch of the     *)
(* first controller. It is the latter: before it there is no epoch (CTL-005).*)
CurrentEpoch ==
    IF Exists(znodes, ControllerEpochPath) THEN znodes[ControllerEpochPath].data[1]
    ELSE IF Has("absent_epoch_is_one") THEN 1 ELSE 0

IsRunning(b) == candidates[b].status # "down"
IsConnected(b) == candidates[b].session_id \in live_sessions
IsActive(b) == candidates[b].status = "active"
IsOwner(b) ==
    Exists(znodes, ControllerPath) /\ Controller.ephemeral_owner = candidates[b].session_id

(* It was overwritten: the broker with the session that owns it is not the   *)
(* one that it names, or it names none.                                      *)
IsOverwritten == Controller.version > 0

(* The end of no session will ever remove it.                                *)
IsForeign == Exists(znodes, ControllerPath) /\ Controller.ephemeral_owner = NoSession

Candidate(session_id, known_epoch) ==
    [status |-> "standing", session_id |-> session_id, controller_epoch |-> 0,
     epoch_version |-> -1, known_epoch |-> known_epoch]

Init ==
    /\ znodes = [path \in {ControllerPath, ControllerEpochPath} |-> Absent]
    /\ live_sessions = Brokers
    /\ last_session = Cardinality(Brokers)
    /\ candidates = [b \in Brokers |-> Candidate(b, 0)]
    /\ terms = {}
    /\ decided_epoch = 0
    /\ budget = Limits
    /\ breaches = {}

-----------------------------------------------------------------------------
(* Processes and sessions *)

(* The process stops. Its session, and with it /controller, lives on until   *)
(* ZooKeeper ends it.                                                        *)
CrashBroker(b) ==
    /\ Spend("crashes")
    /\ IsRunning(b)
    /\ candidates' = [candidates EXCEPT ![b].status = "down"]
    /\ UNCHANGED <<znodes, live_sessions, last_session, terms, decided_epoch, breaches>>

(* A new process of the same broker, with a new session, perhaps before the  *)
(* old one has ended. It reads the controller epoch before it obeys any      *)
(* command.                                                                  *)
RestartBroker(b) ==
    /\ ~IsRunning(b)
    /\ last_session' = last_session + 1
    /\ live_sessions' = live_sessions \cup {last_session + 1}
    /\ candidates' = [candidates EXCEPT ![b] = Candidate(last_session + 1, CurrentEpoch)]
    /\ UNCHANGED <<znodes, terms, decided_epoch, budget, breaches>>

(* The client library replaces a session that has ended. The broker is not   *)
(* told, and whatever it believed it believes still.                         *)
CreateSession(b) ==
    /\ IsRunning(b)
    /\ ~IsConnected(b)
    /\ last_session' = last_session + 1
    /\ live_sessions' = live_sessions \cup {last_session + 1}
    /\ candidates' = [candidates EXCEPT ![b].session_id = last_session + 1]
    /\ UNCHANGED <<znodes, terms, decided_epoch, budget, breaches>>

End(session_id) ==
    /\ live_sessions' = live_sessions \ {session_id}
    /\ znodes' = WithoutSession(znodes, session_id)

Held == {candidates[b].session_id : b \in {b \in Brokers : IsRunning(b)}}

(* A session without process ends by itself.                                 *)
ExpireOrphan == \E s \in live_sessions \ Held : End(s) /\ UNCHANGED budget

(* That of a silent process, too, and that is a fault.                       *)
ExpireSession ==
    /\ \/ ExpireOrphan
       \/ Spend("expiries") /\ \E s \in live_sessions \cap Held : End(s)
    /\ UNCHANGED <<last_session, candidates, terms, decided_epoch, breaches>>

-----------------------------------------------------------------------------
(* The election *)

RaisedEpoch == CurrentEpoch + (IF Has("controller_epoch_not_raised") THEN 0 ELSE 1)

RaiseEpoch ==
    IF Exists(znodes, ControllerEpochPath)
    THEN SetDataOp(ControllerEpochPath, <<RaisedEpoch>>, znodes[ControllerEpochPath].version)
    ELSE CreateOp(ControllerEpochPath, <<RaisedEpoch>>, NoSession)

TakeOffice(b) == CreateOp(ControllerPath, <<b>>, candidates[b].session_id)

(* Create /controller and raise the epoch, both or neither. A persistent     *)
(* znode in its place is deleted in the same multi: a create alone would     *)
(* fail for ever. That the multi raises the epoch that was read before also  *)
(* tells that the znode is the one that was read.                            *)
Election(b) ==
    LET remove == IF IsForeign /\ ~Has("create_over_foreign_znode")
                  THEN <<DeleteOp(ControllerPath, Controller.version)>> ELSE <<>>
    IN Apply(remove \o <<TakeOffice(b), RaiseEpoch>>)

InOffice(b, controller_epoch, epoch_version) ==
    /\ candidates' = [candidates EXCEPT
                        ![b].status = "active", ![b].controller_epoch = controller_epoch,
                        ![b].epoch_version = epoch_version, ![b].known_epoch = controller_epoch]
    /\ terms' = terms \cup {[controller_id |-> b, session_id |-> candidates[b].session_id,
                             controller_epoch |-> controller_epoch]}

WinElection(b) ==
    LET written == Election(b)
    IN /\ candidates[b].status = "standing"
       /\ written.ok
       /\ znodes' = written.tree
       /\ InOffice(b, RaisedEpoch, written.tree[ControllerEpochPath].version)

(* /controller is this broker's already: the reply to its multi was lost.    *)
(* Its own is what its own session owns, not what carries its name. The      *)
(* epoch is from the same multi, or /controller would be another's by now.   *)
FindOwnOffice(b) ==
    /\ candidates[b].status = "standing"
    /\ ~Has("forget_own_controller_znode")
    /\ Exists(znodes, ControllerPath)
    /\ ~IsOverwritten
    /\ IF Has("own_name_is_own_session") THEN Controller.data = <<b>> ELSE IsOwner(b)
    /\ InOffice(b, CurrentEpoch, znodes[ControllerEpochPath].version)
    /\ UNCHANGED znodes

(* The wrong way, for comparison: create first, raise the epoch later.       *)
CreateFirst(b) ==
    LET written == Apply(<<TakeOffice(b)>>)
    IN /\ candidates[b].status = "standing"
       /\ written.ok
       /\ znodes' = written.tree
       /\ candidates' = [candidates EXCEPT ![b].status = "created"]
       /\ UNCHANGED terms

RaiseLater(b) ==
    LET written == Apply(<<RaiseEpoch>>)
    IN /\ candidates[b].status = "created"
       /\ znodes' = written.tree
       /\ InOffice(b, RaisedEpoch, written.tree[ControllerEpochPath].version)

(* A broker that finds no /controller stands, and the one with the multi     *)
(* that succeeds is controller (CTL-002, CTL-003). Whoever finds another's   *)
(* waits for its watch, which here is the guard.                             *)
ElectController(b) ==
    /\ IsConnected(b)
    /\ IF Has("two_step_controller_election")
       THEN CreateFirst(b) \/ RaiseLater(b)
       ELSE WinElection(b) \/ FindOwnOffice(b)
    /\ UNCHANGED <<live_sessions, last_session, decided_epoch, budget, breaches>>

(* The multi took effect, and its author does not hear of it.                *)
LoseReply ==
    /\ Spend("lost_replies")
    /\ \E b \in Brokers :
          /\ candidates[b].status = "standing"
          /\ IsConnected(b)
          /\ Election(b).ok
          /\ znodes' = Election(b).tree
    /\ UNCHANGED <<live_sessions, last_session, candidates, terms, decided_epoch, breaches>>

Resigned(b) == [candidates EXCEPT ![b].status = "standing"]

(* A controller that sees /controller gone, another's, or of a session that  *)
(* it no longer has, forgets everything (CTL-008). One that finds its own    *)
(* overwritten deletes it before it stands again: no other broker would.     *)
ResignController(b) ==
    LET is_lost == IsActive(b) /\ ~IsOwner(b)
        is_spoilt == /\ IsRunning(b)
                     /\ IsOwner(b)
                     /\ IsConnected(b)
                     /\ IsOverwritten
        removed == Apply(<<DeleteOp(ControllerPath, Controller.version)>>)
    IN /\ IF Has("resign_on_expiry_only") THEN IsActive(b) /\ ~IsConnected(b)
          ELSE is_lost \/ is_spoilt
       /\ candidates' = Resigned(b)
       /\ znodes' = IF is_spoilt /\ ~Has("keep_overwritten_znode") THEN removed.tree ELSE znodes
       /\ UNCHANGED <<live_sessions, last_session, terms, decided_epoch, budget, breaches>>

-----------------------------------------------------------------------------
(* What a controller does, and what brokers take from it *)

(* Both znodes are checked: the epoch stops a predecessor once a successor   *)
(* has raised it, /controller stops it before (H8).                          *)
Fence(b) ==
    (IF Has("no_controller_epoch_check") THEN <<>>
     ELSE <<CheckOp(ControllerEpochPath, candidates[b].epoch_version)>>)
    \o (IF Has("no_controller_znode_check") THEN <<>> ELSE <<CheckOp(ControllerPath, 0)>>)

(* Another broker was elected since.                                         *)
IsDeposed(b) ==
    /\ Exists(znodes, ControllerPath)
    /\ ~IsForeign
    /\ ~IsOwner(b)

(* One fenced write of any kind. A controller resigns when its write is      *)
(* refused (ZK-005).                                                         *)
PublishDecision(b) ==
    LET is_done == IsConnected(b) /\ Apply(Fence(b)).ok
    IN /\ IsActive(b)
       /\ decided_epoch' = IF is_done THEN candidates[b].controller_epoch ELSE decided_epoch
       /\ candidates' = IF is_done THEN candidates ELSE Resigned(b)
       /\ breaches' = breaches
            \cup Breach("OnlyControllerWrites", b, is_done /\ ~IsOwner(b))
            \cup Breach("StaleControllerHarmless", b, is_done /\ IsDeposed(b))
       /\ UNCHANGED <<znodes, live_sessions, last_session, terms, budget>>

(* A newer epoch means another controller: the broker adopts it, and gives   *)
(* up the office that it believed to have (CTL-007).                         *)
Knowing(b, controller_epoch) ==
    LET is_replaced == /\ IsActive(b)
                       /\ candidates[b].controller_epoch < controller_epoch
                       /\ ~Has("ignore_newer_controller_epoch")
    IN [candidates EXCEPT ![b].known_epoch = controller_epoch,
                          ![b].status = IF is_replaced THEN "standing" ELSE @]

(* A broker reads in ZooKeeper which broker is controller (CTL-004), as late *)
(* as it likes. Only the epoch is kept: the id serves clients.               *)
LearnController(b) ==
    /\ IsRunning(b)
    /\ IsConnected(b)
    /\ candidates[b].known_epoch < CurrentEpoch
    /\ candidates' = Knowing(b, CurrentEpoch)
    /\ UNCHANGED <<znodes, live_sessions, last_session, terms, decided_epoch, budget, breaches>>

(* A command of any controller, past or present, arrives, and is obeyed      *)
(* unless its epoch is smaller than the one known (CTL-006). What it says is *)
(* left out: here it stands for every kind of command.                       *)
BecomeFollower(b) ==
    /\ IsRunning(b)
    /\ \E term \in terms :
          LET is_older == term.controller_epoch < candidates[b].known_epoch
          IN /\ ~is_older \/ Has("accept_older_controller_epoch")
             /\ candidates' = Knowing(b, term.controller_epoch)
             /\ breaches' = breaches \cup Breach("StaleControllerHarmless", b, is_older)
    /\ UNCHANGED <<znodes, live_sessions, last_session, terms, decided_epoch, budget>>

-----------------------------------------------------------------------------
(* People *)

(* The text recommends it: an operator deletes /controller to force an       *)
(* election. The owner's session lives.                                      *)
DeleteController ==
    /\ Spend("deletions")
    /\ Exists(znodes, ControllerPath)
    /\ znodes' = [znodes EXCEPT ![ControllerPath] = Absent]
    /\ UNCHANGED <<live_sessions, last_session, candidates, terms, decided_epoch, breaches>>

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
    /\ UNCHANGED <<live_sessions, last_session, candidates, terms, decided_epoch, breaches>>

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
    \/ DeleteController
    \/ OverwriteController

(* Faults are bounded; processes return, sessions are replaced and end, and  *)
(* brokers do not pause for ever.                                            *)
ExpireAbandoned ==
    /\ ExpireOrphan
    /\ UNCHANGED <<last_session, candidates, terms, decided_epoch, breaches>>

Fairness ==
    /\ WF_vars(ExpireAbandoned)
    /\ \A b \in Brokers :
          /\ WF_vars(RestartBroker(b))
          /\ WF_vars(CreateSession(b))
          /\ WF_vars(ElectController(b))
          /\ WF_vars(ResignController(b))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
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

(* A deposed controller's writes fail, and a broker that knows its successor *)
(* does not obey it.                                                         *)
\* @req ZK-005
\* @req CTL-006
\* @req CTL-013
StaleControllerHarmless == IsCleanOf("StaleControllerHarmless")

(* A controller's write takes effect only while its session owns             *)
(* /controller, also when no other has been elected after it.                *)
\* @req ZK-005
OnlyControllerWrites == IsCleanOf("OnlyControllerWrites")

(* 1 for the first controller and one more for each election: every write of *)
(* the epoch is one election.                                                *)
\* @req CTL-005
EpochCountsElections ==
    Exists(znodes, ControllerEpochPath) =>
        znodes[ControllerEpochPath].data[1] = znodes[ControllerEpochPath].version + 1

(* No broker acts as controller under an epoch that it knows to be over.     *)
\* @req CTL-007
ResignsOnNewerEpoch ==
    \A b \in Brokers : IsActive(b) => candidates[b].known_epoch <= candidates[b].controller_epoch

IsInOffice(b) == IsActive(b) /\ IsConnected(b) /\ IsOwner(b) /\ Apply(Fence(b)).ok

(* Again and again there is a controller with writes that succeed.           *)
\* @req CTL-009
ControllerEventuallyExists == []<>(\E b \in Brokers : IsInOffice(b))
=============================================================================
