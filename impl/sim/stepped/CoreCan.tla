------------------------------- MODULE CoreCan -------------------------------
(* Steps of `LeaderAndIsr` that the core takes too. The specs allow more than *)
(* the core does, which is sound; but a behaviour that the core is to replay  *)
(* must do without. Each operator says where the core is stricter.            *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS Brokers, Controllers, mutants, unclean_leader_election
VARIABLES znodes, controllers, replicas, messages,
    told,       \* commands that the core sent; the specs send to every broker, always
    looks,      \* controllers that read the state, or are about to
    refused,    \* controllers that the fence told that their office is over
    overtaken   \* controllers with a broker that is back before they decided that it was away

HasSent(c) == controllers[c].to_send # <<>> /\ controllers'[c].to_send = <<>>
HasDecided(c) == controllers[c].decision = <<>> /\ controllers'[c].decision # <<>>
HasFailed(c) ==
    /\ controllers[c].decision # <<>>
    /\ controllers'[c].decision = <<>>
    /\ controllers'[c].to_send = <<>>

(* A state that a decision would replace, because a member of the ISR is gone *)
(* or one without leader could have one; with the mutant, because it is older *)
(* than the controller.                                                       *)
IsReplaced(c, state) ==
    IF /\ "init_is_unconditional" \in mutants
       /\ state.controller_epoch < controllers[c].controller_epoch THEN TRUE
    ELSE IF state.leader = -1 THEN state.isr \cap controllers[c].live_brokers # {}
    ELSE ~(state.isr \subseteq controllers[c].live_brokers)

(* The core tells live brokers only, and no state that it will replace: that  *)
(* decision comes first.                                                      *)
Telling(c) ==
    IF ~HasSent(c) \/ c \in refused \/ IsReplaced(c, controllers[c].to_send[1].state) THEN {}
    ELSE {m \in messages' :
            /\ m.copy = 1
            /\ m.to \in controllers[c].live_brokers
            /\ m.znode_version = controllers[c].to_send[1].znode_version
            /\ m.controller_epoch = controllers[c].controller_epoch}

Copied == {m \in messages' \ messages : m.copy = 2 /\ [m EXCEPT !.copy = 1] \in told}
Told ==
    told' = {m \in told : m \in messages'} \cup UNION {Telling(c) : c \in Controllers} \cup Copied
OnlyToldCommands == messages \ messages' \subseteq told

(* The core looks at the state when it is elected, when a broker comes or     *)
(* goes, and after a conflict; the specs look at any time.                    *)
Looks ==
    looks' = {c \in Controllers :
        \/ controllers'[c].live_brokers # controllers[c].live_brokers
        \/ HasFailed(c)
        \/ c \in looks /\ ~HasDecided(c)
                       /\ (HasSent(c) => IsReplaced(c, controllers[c].to_send[1].state))}

OnlyDecisionsOnALook ==
    \A c \in Controllers :
        HasDecided(c) => c \in looks \/ znodes["/brokers/topics/t/0/leaderAndISR"].version = -1

(* A controller resigns at once when the fence refused its write.             *)
Refused ==
    refused' = {c \in Controllers :
        /\ controllers'[c].status = "active"
        /\ \/ c \in refused
           \/ HasFailed(c) /\ znodes["/controller"].ephemeral_owner # c}
OnlyDecisionsInOffice == \A c \in refused : ~HasDecided(c)

(* While a decision is on its way the core sends no command of what it        *)
(* replaces.                                                                  *)
NothingIsToldWhileDeciding ==
    \A c \in Controllers :
        (controllers[c].decision # <<>> /\ controllers[c].to_send = <<>>) =>
            controllers'[c].decision = <<>> \/ controllers'[c].to_send = <<>>

(* When brokers came or went meanwhile, the core decides again at once.       *)
NoDecisionIsOutdated ==
    \A c \in Controllers :
        (controllers[c].decision # <<>> /\ controllers'[c].to_send # <<>>) =>
            ~IsReplaced(c, controllers'[c].to_send[1].state)

(* A restarted broker leads under a larger epoch only: what the first leader  *)
(* of that epoch appended may be lost, and two records would share an offset. *)
NoEpochIsLedTwice ==
    \A b \in Brokers :
        (replicas[b].role = "idle" /\ replicas'[b].role = "leader") =>
            replicas'[b].leader_epoch > replicas[b].leader_epoch

(* The core notices by the registration's czxid a broker that left and came   *)
(* back between two reads, and one that is back before its departure was      *)
(* decided (H2): what its controller does next is no step of the specs. It    *)
(* may stand still. Where a leader may come from outside the ISR the brokers  *)
(* are read again first, and the behaviours end with that election.           *)
IsDecided(c, b) ==
    LET state == znodes["/brokers/topics/t/0/leaderAndISR"]
        decision == controllers[c].decision
    IN \/ unclean_leader_election
       \/ /\ state.version = -1 \/ state.data.leader = -1 \/ b \notin state.data.isr
          /\ decision = <<>> \/ b \notin decision[1].state.isr

IsBack(b) ==
    LET path == "/brokers/ids/" \o ToString(b)
    IN znodes[path].version = -1 /\ znodes'[path].version # -1
IsOvertakenBy(c, b) == IsBack(b) /\ ~(b \notin controllers[c].live_brokers /\ IsDecided(c, b))

Overtaken ==
    overtaken' = {c \in Controllers :
        /\ controllers[c].status = "active"
        /\ controllers'[c].status = "active"
        /\ c \in overtaken \/ \E b \in Brokers : IsOvertakenBy(c, b)}

OvertakenStandStill ==
    \A c \in overtaken : controllers'[c].status = "active" => controllers'[c] = controllers[c]

CoreInit == told = {} /\ looks = {} /\ refused = {} /\ overtaken = {}

CoreCan ==
    /\ Told
    /\ Looks
    /\ Refused
    /\ OnlyDecisionsInOffice
    /\ OnlyToldCommands
    /\ OnlyDecisionsOnALook
    /\ NothingIsToldWhileDeciding
    /\ NoDecisionIsOutdated
    /\ NoEpochIsLedTwice
    /\ Overtaken
    /\ OvertakenStandStill
=============================================================================
