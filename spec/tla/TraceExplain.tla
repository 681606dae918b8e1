---------------------------- MODULE TraceExplain ----------------------------
(* The replay of one run once more, to tell why it stopped: the state of the *)
(* spec before the event that is not allowed, and what was enabled there.    *)
EXTENDS TraceReplication

Shown ==
    [state |-> IF past = <<>> THEN <<>> ELSE <<past[Len(past)].state>>,
     znode_version |-> Metadata!StateVersion,
     registered |-> Metadata!Registered,
     controllers |-> [c \in Controllers |->
        [status |-> controllers[c].status,
         controller_epoch |-> controllers[c].controller_epoch,
         live_brokers |-> controllers[c].live_brokers,
         decision |-> controllers[c].decision]],
     replicas |-> [b \in Brokers |->
        [role |-> replicas[b].role,
         leader |-> replicas[b].leader,
         leader_epoch |-> replicas[b].leader_epoch,
         isr |-> replicas[b].isr,
         pending_isr |-> replicas[b].pending_isr,
         znode_version |-> replicas[b].znode_version,
         controller_epoch |-> replicas[b].controller_epoch,
         high_watermark |-> base + logs[b].high_watermark,
         log_end_offset |-> base + EndOffset(b),
         end_offsets |-> [f \in Brokers |-> IF logs[b].end_offsets[f] = Unknown THEN Unknown
                                            ELSE base + logs[b].end_offsets[f]],
         epoch_start |-> base + logs[b].epoch_start,
         committed |-> base + agreed[b]]],
     committed |-> base + Len(committed_log)]

Of(action, brokers) == {<<action, b>> : b \in brokers}

(* The guard of TruncateLog without the offset, which takes TLC for ever on  *)
(* long logs that have parted.                                               *)
MayTruncate(b) ==
    /\ replicas[b].role = "follower"
    /\ ~logs[b].is_truncated
    /\ replicas[b].leader \in Brokers
    /\ truncation = "leader_epoch" => IsLedBy(b, replicas[b].leader)

(* Actions of the spec that could come next, with their actors. *)
EnabledActions ==
    (IF ENABLED CreateTopic THEN {<<"CreateTopic", 0>>} ELSE {})
    \cup Of("RegisterBroker", {b \in Brokers : ENABLED RegisterBroker(b)})
    \cup Of("ElectController", {c \in Controllers : ENABLED ElectController(c)})
    \cup Of("ResignController", {c \in Controllers : ENABLED ResignController(c)})
    \cup Of("LearnController", {b \in Brokers : ENABLED LearnController(b)})
    \cup Of("DetectBrokerChange", {c \in Controllers : ENABLED DetectBrokerChange(c)})
    \cup Of("InitLeader", {c \in Controllers : ENABLED InitLeader(c)})
    \cup Of("ElectLeader", {c \in Controllers : ENABLED ElectLeader(c)})
    \cup Of("PublishDecision", {c \in Controllers : ENABLED PublishDecision(c)})
    \cup Of("SendLeaderAndIsr", {c \in Controllers : controllers[c].status = "active" /\ past # <<>>})
    \cup Of("BecomeLeader", {b \in Brokers : ENABLED BecomeLeader(b)})
    \cup Of("BecomeFollower", {b \in Brokers : ENABLED BecomeFollower(b)})
    \cup Of("TruncateLog", {b \in Brokers : MayTruncate(b)})
    \cup Of("LeaderAppend", {b \in Brokers : ENABLED LeaderAppend(b)})
    \cup Of("ServeFetch", {l \in Brokers : \E f \in Brokers : ENABLED ServeFetch(l, f)})
    \cup Of("FollowerAppend", {f \in Brokers : replicas[f].role = "follower" /\ MayFetch(f)})
    \cup Of("AdvanceHighWatermark", {l \in Brokers : ENABLED AdvanceHighWatermark(l)})
    \cup Of("ShrinkIsr", {l \in Brokers : \E f \in Brokers : ENABLED ShrinkIsr(l, f)})
    \cup Of("ExpandIsr", {l \in Brokers : \E f \in Brokers : ENABLED ExpandIsr(l, f)})
    \cup Of("AdoptIsr", {l \in Brokers : ENABLED AdoptIsr(l)})
    \cup Of("FenceLeader", {l \in Brokers : ENABLED FenceLeader(l)})

(* TLC takes the disjuncts of ExplainNext from left to right, so that the    *)
(* event that had a step last is known. Asking for ENABLED TraceStep takes   *)
(* for ever on logs that have parted: nothing is kept while TLC asks.        *)
HadStep == 1
ASSUME TLCSet(HadStep, <<>>)

Stuck ==
    /\ at <= Len(Events)
    /\ TLCGet(HadStep) # Place
    /\ PrintT(<<"stuck", at, Shown, EnabledActions>>)
    /\ FALSE
    /\ UNCHANGED <<network_vars, history_vars, heard_vars, record_vars, belief_vars, run, at, base>>

ExplainNext == (TraceNext /\ TLCSet(HadStep, Place)) \/ Stuck

(* As a CONSTRAINT, in the place of Watch. *)
Explain ==
    IF Violated \ NotPromised # {} THEN PrintT(<<"stuck", at - 1, Shown, EnabledActions>>) /\ FALSE ELSE TRUE
=============================================================================
