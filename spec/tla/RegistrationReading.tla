------------------------- MODULE RegistrationReading -------------------------
(* How a controller comes to know the registrations (BEP-004). It lists      *)
(* /brokers/ids, then reads what is listed one by one, in any order, while   *)
(* brokers register and their sessions end. At level 4 it leaves out what is *)
(* newer than the listing: what it has missed is newer too, so that no epoch *)
(* that it knows is large enough for it.                                     *)
(*                                                                           *)
(* `Fencing` has everything else, and this reading in one step, which keeps  *)
(* its own rows small. Left out: upgrades. A controller that speaks another  *)
(* level has started again, and reads again.                                 *)
EXTENDS Fencing

VARIABLES
    reading,        \* what the controller has read since its last listing
    is_listing_old  \* the watch that came with the listing has fired

reading_vars == <<vars, reading, is_listing_old>>

NoEpochs == [b \in Brokers |-> 0]
NoReading ==
    [is_on |-> FALSE, is_first |-> FALSE, listed_zxid |-> 0, unread |-> {}, epochs |-> NoEpochs]

(* The watch has fired for a change that is over, so that a first reading    *)
(* may begin at any time.                                                    *)
ReadingInit ==
    /\ Init
    /\ reading = NoReading
    /\ is_listing_old = TRUE

-----------------------------------------------------------------------------
(* The controller reads                                                      *)

(* The ids that there are, and the number of the last change of them, pzxid. *)
(* The end of a registration needs no number of its own, since an epoch that *)
(* is not larger than it is not larger than the registration before it.      *)
Listed(is_first) ==
    [is_on |-> TRUE, is_first |-> is_first, listed_zxid |-> zxid,
     unread |-> Registered(Registrations), epochs |-> NoEpochs]

(* The controller lists the brokers again when its watch has fired, and sets *)
(* the watch with that.                                                      *)
ListRegistrations ==
    /\ is_listing_old
    /\ ~reading.is_on
    /\ reading' = Listed(FALSE)
    /\ is_listing_old' = FALSE
    /\ UNCHANGED vars

(* One registration is read, or found to be gone.                            *)
ReadRegistration(b) ==
    /\ b \in reading.unread
    /\ reading' = [reading EXCEPT !.unread = @ \ {b}, !.epochs[b] = Registrations[b]]
    /\ UNCHANGED <<vars, is_listing_old>>

(* What is newer than the listing is as if it had not come yet. The watch    *)
(* tells of it. With the epoch of each broker in its commands all that was   *)
(* read can be known.                                                        *)
IsTaken(b) == controller.level # 4 \/ reading.epochs[b] <= reading.listed_zxid
Known == [b \in Brokers |-> IF IsTaken(b) THEN reading.epochs[b] ELSE 0]

IsRead == reading.is_on /\ reading.unread = {}

(* The watch may have fired while the controller was reading.                *)
IsStillOld == is_listing_old
LearnRegistrations ==
    /\ IsRead
    /\ Learn(Known)
    /\ reading' = NoReading
    /\ is_listing_old' = IsStillOld
    /\ UNCHANGED <<znodes, zxid, replicas, messages, budget, history>>

(* Another broker becomes controller: it knows nothing before it has read.   *)
StartController ==
    /\ Spend("controller_changes")
    /\ controller' = [controller EXCEPT !.view = NoEpochs, !.bounced = {}, !.is_send_due = TRUE]
    /\ reading' = Listed(TRUE)
    /\ is_listing_old' = FALSE
    /\ UNCHANGED <<znodes, zxid, replicas, messages, history>>

-----------------------------------------------------------------------------
(* All others go on meanwhile, and so does a controller with what it knew.   *)
KnowsBrokers == ~reading.is_first

Watched ==
    /\ is_listing_old' = (is_listing_old \/ Registrations' # Registrations)
    /\ UNCHANGED reading

OtherSteps ==
    \/ \E b \in Brokers : CrashBroker(b)
    \/ \E b \in Brokers : ExpireSession(b)
    \/ \E b \in Brokers : RegisterBroker(b)
    \/ KnowsBrokers /\ (ElectLeader \/ SendLeaderAndIsr)
    \/ \E b \in Brokers : BecomeLeader(b)
    \/ \E b \in Brokers : BecomeFollower(b)
    \/ \E l \in Brokers : LeaderAppend(l)
    \/ \E f \in Brokers : FollowerAppend(f)
    \/ \E f \in Brokers : TruncateLog(f)
    \/ \E l, f \in Brokers : ServeFetch(l, f)
    \/ \E l \in Brokers : AdvanceHighWatermark(l)
    \/ \E l, f \in Brokers : ExpandIsr(l, f)

ReadingNext ==
    \/ OtherSteps /\ Watched
    \/ ListRegistrations
    \/ \E b \in Brokers : ReadRegistration(b)
    \/ LearnRegistrations
    \/ StartController

(* As in `Fencing`; a listing, what is read and what is learnt of it follow  *)
(* on each other.                                                            *)
ReadingFairness ==
    /\ \A b \in Brokers :
          /\ WF_reading_vars(replicas[b].role = "down" /\ ExpireSession(b) /\ Watched)
          /\ WF_reading_vars(RegisterBroker(b) /\ Watched)
          /\ WF_reading_vars(BecomeLeader(b) /\ Watched)
          /\ WF_reading_vars(BecomeFollower(b) /\ Watched)
    /\ WF_reading_vars(ListRegistrations \/ LearnRegistrations
                            \/ \E b \in Brokers : ReadRegistration(b))
    /\ WF_reading_vars(KnowsBrokers /\ ElectLeader /\ Watched)
    /\ WF_reading_vars(KnowsBrokers /\ SendLeaderAndIsr /\ Watched)

ReadingSpec == ReadingInit /\ [][ReadingNext]_reading_vars /\ ReadingFairness

-----------------------------------------------------------------------------
ReadingTypeOK ==
    /\ TypeOK
    /\ is_listing_old \in BOOLEAN
    /\ reading.is_on \in BOOLEAN /\ reading.is_first \in BOOLEAN
    /\ reading.listed_zxid \in 0 .. zxid
    /\ reading.unread \subseteq Brokers
    /\ reading.epochs \in [Brokers -> 0 .. zxid]
    /\ ~reading.is_on => reading = NoReading

(* A registration that the controller has missed is newer than all epochs    *)
(* that it knows, of which a command bears the largest.                      *)
\* @req BEP-004
MissedIsNewer ==
    controller.level = 4 => \A b \in Brokers :
        controller.view[b] \in {0, incarnations[b]} \/ incarnations[b] > Largest(controller.view)

(* A controller that does not read, and is not about to, knows what there is.*)
\* @req BEP-004
\* @req BEP-006
ViewIsComplete ==
    ~reading.is_on /\ ~is_listing_old => controller.view = Registrations

(* A reading begins with a listing, which sets the watch, after the brokers  *)
(* have changed or with a controller that starts. That knows nothing, and    *)
(* decides and tells nothing, before it has read.                            *)
\* @req BEP-004
ReadingsBegin ==
    [][LET is_started == budget'["controller_changes"] < budget["controller_changes"] IN
        /\ reading'.is_on /\ (is_started \/ ~reading.is_on) =>
            (is_started \/ is_listing_old) /\ ~is_listing_old'
        /\ is_started => controller' = [controller EXCEPT !.view = NoEpochs, !.bounced = {},
                                                          !.is_send_due = TRUE]
        /\ reading.is_first =>
            /\ znodes'[StatePath].data.leader_epoch = State.leader_epoch
            /\ messages' \subseteq messages]_reading_vars

(* A broker that has come is told what stands.                               *)
\* @req BEP-006
ArrivalsAreTold ==
    [][(\E b \in Brokers : controller'.view[b] \notin {0, controller.view[b]}) =>
        controller'.is_send_due]_reading_vars

-----------------------------------------------------------------------------
(* What must be possible                                                     *)

(* All is read, and a broker is left out.                                    *)
NewerIsLeftOut == IsRead /\ Known # reading.epochs

(* A bounce is known, and nothing is left to be read.                        *)
AllIsKnown ==
    /\ ~reading.is_on /\ ~is_listing_old
    /\ \E b \in Brokers : HasBounced(b) /\ controller.view[b] = incarnations[b]

(* An epoch is read that is larger than that of a registration just missed.  *)
LargerThanMissed ==
    \E b, other \in Brokers :
        /\ reading.epochs[b] \notin {0, incarnations[b]}
        /\ reading.epochs[other] > incarnations[b]
=============================================================================
