----------------------------- MODULE TraceTold ------------------------------
(* The lines of levels 4 and 5: what brokers are told of the cluster, and    *)
(* changes of the configuration. `Replication` has neither, so that its      *)
(* state stays as it was; what is demanded are the rules of                  *)
(* `MetadataPropagation` and `Forwarding` on the past that the replay keeps. *)
EXTENDS TraceMetadata

NothingHappens ==
    /\ UNCHANGED belief_vars
    /\ UNCHANGED history_vars
    /\ UNCHANGED record_vars

-----------------------------------------------------------------------------
(* Metadata *)

(* Later than what the broker was told: by its controller, or by the next.   *)
IsLaterBody(known) ==
    \/ Event.controller_epoch > known.controller_epoch
    \/ /\ Event.controller_epoch = known.controller_epoch
       /\ Event.metadata_version > known.metadata_version

IsSameBody(known) ==
    /\ Event.controller_epoch = known.controller_epoch
    /\ Event.metadata_version = known.metadata_version

(* The body itself: of brokers that registered so. *)
TakesBody(b) ==
    /\ IsLaterBody(taken[b])
    /\ Event.broker_epochs \subseteq {<<r.broker_id, r.zxid>> : r \in registrations}
    /\ Event.live_brokers = {entry[1] : entry \in Event.broker_epochs}

(* What it tells of the partition: a state that was published, none earlier  *)
(* than the one before.                                                      *)
TakesState(b) ==
    /\ IsSameBody(taken[b])
    /\ HasVersion(Event.znode_version)
    /\ Event.znode_version >= taken[b].znode_version
    /\ LET state == PastState(Event.znode_version)
       IN /\ Event.leader = state.leader
          /\ Event.leader_epoch = state.leader_epoch
          /\ Event.isr = state.isr

UpdateMetadataSeen ==
    LET b == Event.broker_id
    IN /\ Is("UpdateMetadata")
       /\ replicas[b].role \notin {"down", "starting"}
       /\ Body(Event.controller_id, b) \in bodies
       /\ IF IsAboutPartition THEN TakesState(b) ELSE TakesBody(b)
       /\ NothingHappens

-----------------------------------------------------------------------------
(* Configuration *)

(* From level 5 on by the session that holds the office. *)
ZkConfigure ==
    /\ Is("ZkConfigure")
    /\ Event.is_fenced => Metadata!Exists(znodes, Metadata!ControllerPath)
    /\ Event.is_fenced => znodes[Metadata!ControllerPath].ephemeral_owner = Event.broker_id
    /\ NothingHappens

(* ZooKeeper holds what this broker has written. *)
ApplyMutationHeard ==
    /\ Is("ApplyMutation")
    /\ <<Event.broker_id, Event.zxid>> \in configured
    /\ NothingHappens

(* To the controller that the broker knows, and it is none itself. *)
ForwardRequestSeen ==
    /\ Is("ForwardRequest")
    /\ acting[Event.broker_id] = Metadata!NoEpoch
    /\ Event.peer = followed[Event.broker_id]
    /\ NothingHappens

ToldStep ==
    \/ UpdateMetadataSeen
    \/ ZkConfigure
    \/ ApplyMutationHeard
    \/ ForwardRequestSeen
=============================================================================
