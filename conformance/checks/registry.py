"""All checks, and how to run them over a trace.

A check is pure. One that is `per_partition` is given the events of one partition (those that
`partition_of_event` assigns to it, and `RunStarted`), any other the whole run. Either kind may be
given only the events with an action that it `reads`: that is what `run_checks` does, and what Spark
ships to its tasks.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fencepost.conformance.checks import (
    acknowledged_durable,
    acts_in_its_role,
    controller_in_order,
    decided_as_registered,
    delete_only_if_unassigned,
    forwarded_once,
    high_watermark_monotonic,
    init_names_all,
    isr_subset_assigned,
    leader_complete,
    leader_in_isr,
    linearizable_config,
    linearizable_log,
    linearizable_znode,
    log_matching,
    metadata_in_order,
    min_insync_replicas,
    mutation_quota_kept,
    obeyed_as_sent,
    one_committer_per_epoch,
    one_controller_per_epoch,
    one_leader_per_epoch,
    only_askers_shut_down,
    only_authorised_writes,
    only_controller_writes,
    principal_kept,
    sequences_in_order,
    stale_controller_harmless,
    stale_incarnation_harmless,
)
from fencepost.conformance.checks.log_history import CLIENT_READS, LeftOut
from fencepost.conformance.checks.ordering import split_by_partition
from fencepost.conformance.checks.replica_log import APPENDS, REPLICA_ACTIONS, Agreed
from fencepost.conformance.checks.trace_dialect import SPEC, TraceDialect
from fencepost.conformance.checks.unclean_elections import (
    UNCLEAN_ONLY_IF_ISR_DEAD,
    judge_elections,
)
from fencepost.conformance.verdict import CheckResult, merge
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant, ProtocolLevel

CheckFunction = Callable[..., CheckResult]
"""Takes the events; one of `_BY_DIALECT` also the `TraceDialect` of the run, `SPEC` by default."""

_BY_DIALECT = frozenset(
    {
        Invariant.LINEARIZABLE_LOG,
        Invariant.HIGH_WATERMARK_MONOTONIC,
        Invariant.LEADER_IN_ISR,
        Invariant.LINEARIZABLE_ZNODE,
        Invariant.ONLY_AUTHORISED_WRITES,
        Invariant.ONE_CONTROLLER_PER_EPOCH,
    }
)


_MAY_LACK: Mapping[Invariant, type] = {
    Invariant.LINEARIZABLE_LOG: LeftOut,
    Invariant.LOG_MATCHING: Agreed,
    Invariant.LEADER_COMPLETE: Agreed,
}
"""Checks that can be told of lines that they are not given."""

RUN_STARTED = frozenset({"RunStarted"})
"""What is set for the whole run: a check of a partition that reads it gets it too."""
_CLIENT = frozenset({"Produce", "Fetch", "ListOffsets", Action.ELECT_LEADER})
"""What clients saw, and which elections may have lost it."""
_BROKER_ZNODE = frozenset({"WriteLeaderAndIsr", "ReadLeaderAndIsr"})
ZOOKEEPER = frozenset({"CreateSession", "CloseSession", "Create", "SetData", "Delete"})
"""Lines of ZooKeeper's transaction log."""
_AUTHORS = frozenset({Action.REGISTER_BROKER, Action.ELECT_CONTROLLER})
_COMMANDS = frozenset({Action.BECOME_LEADER, Action.BECOME_FOLLOWER, Action.LEARN_CONTROLLER})
_ISR_HOLDERS = frozenset(
    {
        Action.INIT_LEADER,
        Action.ELECT_LEADER,
        Action.PUBLISH_DECISION,
        Action.BECOME_LEADER,
        Action.BECOME_FOLLOWER,
        Action.ADVANCE_HIGH_WATERMARK,
        Action.SHRINK_ISR,
        Action.EXPAND_ISR,
        Action.ADOPT_ISR,
        Action.FENCE_LEADER,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvariantCheck:
    """One invariant's check and what it needs."""

    invariant: Invariant
    run: CheckFunction
    per_partition: bool
    reads: frozenset[str]
    """Values of `action`; events of any other leave the result as it is."""

    def judge(
        self,
        events: Iterable[TraceEvent],
        dialect: TraceDialect = SPEC,
        left_out: LeftOut | Agreed | None = None,
    ) -> CheckResult:
        """The result over one partition, or over a run; actions that it does not read may come.

        `left_out`: what a check is not given that `_MAY_LACK`; others are given all, or what
        decides.
        """
        read = [event for event in events if event.action in self.reads]
        if isinstance(left_out, _MAY_LACK.get(self.invariant, ())):
            dialects = [dialect] if self.invariant in _BY_DIALECT else []
            return self.run(read, *dialects, left_out)
        return self.run(read, dialect) if self.invariant in _BY_DIALECT else self.run(read)


_OF_A_PARTITION: Mapping[Invariant, tuple[CheckFunction, frozenset[str]]] = {
    Invariant.LINEARIZABLE_LOG: (linearizable_log.check, _CLIENT | {Action.BECOME_LEADER}),
    Invariant.ACKNOWLEDGED_DURABLE: (acknowledged_durable.check, _CLIENT | {"Create", "Delete"}),
    Invariant.LOG_MATCHING: (log_matching.check, REPLICA_ACTIONS | {Action.ELECT_LEADER}),
    Invariant.LEADER_COMPLETE: (leader_complete.check, REPLICA_ACTIONS | {Action.ELECT_LEADER}),
    Invariant.HIGH_WATERMARK_MONOTONIC: (
        high_watermark_monotonic.check,
        REPLICA_ACTIONS | CLIENT_READS,
    ),
    Invariant.ONE_LEADER_PER_EPOCH: (
        one_leader_per_epoch.check,
        ZOOKEEPER | {Action.BECOME_LEADER},
    ),
    Invariant.ONE_COMMITTER_PER_EPOCH: (
        one_committer_per_epoch.check,
        APPENDS
        | {"Produce", Action.BECOME_LEADER, Action.ADVANCE_HIGH_WATERMARK, Action.ELECT_LEADER},
    ),
    Invariant.LEADER_IN_ISR: (leader_in_isr.check, ZOOKEEPER | _ISR_HOLDERS),
    Invariant.LINEARIZABLE_ZNODE: (
        linearizable_znode.check,
        ZOOKEEPER | _BROKER_ZNODE | _COMMANDS,
    ),
    Invariant.ACTS_IN_ITS_ROLE: (acts_in_its_role.check, acts_in_its_role.JUDGED),
    Invariant.MIN_INSYNC_REPLICAS: (
        min_insync_replicas.check,
        RUN_STARTED | {"Produce", Action.BECOME_LEADER, Action.ADOPT_ISR, Action.LEADER_APPEND},
    ),
    Invariant.SEQUENCES_IN_ORDER: (
        sequences_in_order.check,
        _CLIENT | REPLICA_ACTIONS | {"Create", "Delete"},
    ),
}
_OF_A_RUN: Mapping[Invariant, tuple[CheckFunction, frozenset[str]]] = {
    Invariant.ONLY_AUTHORISED_WRITES: (
        only_authorised_writes.check,
        ZOOKEEPER | _BROKER_ZNODE | _AUTHORS | {Action.ELECT_LEADER, "LogFailed"},
    ),
    Invariant.STALE_CONTROLLER_HARMLESS: (
        stale_controller_harmless.check,
        ZOOKEEPER | stale_controller_harmless.JUDGED,
    ),
    Invariant.STALE_INCARNATION_HARMLESS: (
        stale_incarnation_harmless.check,
        ZOOKEEPER
        | stale_incarnation_harmless.JUDGED
        | stale_incarnation_harmless.JOINS
        | stale_incarnation_harmless.SENT
        | {Action.ELECT_LEADER},
    ),
    Invariant.ONLY_ASKERS_SHUT_DOWN: (
        only_askers_shut_down.check,
        ZOOKEEPER | only_askers_shut_down.JUDGED,
    ),
    Invariant.INIT_NAMES_ALL: (init_names_all.check, ZOOKEEPER | {Action.SEND_INIT}),
    Invariant.METADATA_IN_ORDER: (
        metadata_in_order.check,
        ZOOKEEPER | metadata_in_order.ROLES | {Action.UPDATE_METADATA},
    ),
    Invariant.OBEYED_AS_SENT: (obeyed_as_sent.check, obeyed_as_sent.JUDGED),
    Invariant.ONE_CONTROLLER_PER_EPOCH: (
        one_controller_per_epoch.check,
        ZOOKEEPER | _AUTHORS | {Action.RESIGN_CONTROLLER},
    ),
    Invariant.CONTROLLER_IN_ORDER: (
        controller_in_order.check,
        ZOOKEEPER | controller_in_order.JUDGED,
    ),
    Invariant.DECIDED_AS_REGISTERED: (
        decided_as_registered.check,
        ZOOKEEPER | decided_as_registered.JUDGED,
    ),
    Invariant.ISR_SUBSET_ASSIGNED: (isr_subset_assigned.check, ZOOKEEPER),
    Invariant.DELETE_ONLY_IF_UNASSIGNED: (
        delete_only_if_unassigned.check,
        ZOOKEEPER | {Action.BECOME_LEADER, Action.BECOME_FOLLOWER, Action.STOP_REPLICA},
    ),
    Invariant.LINEARIZABLE_CONFIG: (
        linearizable_config.check,
        ZOOKEEPER | linearizable_config.JUDGED,
    ),
    Invariant.FORWARDED_ONCE: (forwarded_once.check, forwarded_once.JUDGED),
    Invariant.PRINCIPAL_KEPT: (principal_kept.check, principal_kept.JUDGED),
    Invariant.ONLY_CONTROLLER_WRITES: (
        only_controller_writes.check,
        ZOOKEEPER | RUN_STARTED | {Action.APPLY_MUTATION},
    ),
    Invariant.MUTATION_QUOTA_KEPT: (
        mutation_quota_kept.check,
        ZOOKEEPER | mutation_quota_kept.JUDGED,
    ),
}

CHECKS: Mapping[Invariant, InvariantCheck] = MappingProxyType(
    {
        invariant: InvariantCheck(
            invariant=invariant, run=run, per_partition=rows is _OF_A_PARTITION, reads=reads
        )
        for rows in (_OF_A_PARTITION, _OF_A_RUN)
        for invariant, (run, reads) in rows.items()
    }
)
"""In the order in which results are shown."""

_FROM_LEVEL = (
    dict.fromkeys(
        (
            Invariant.STALE_INCARNATION_HARMLESS,
            Invariant.ONLY_ASKERS_SHUT_DOWN,
            Invariant.INIT_NAMES_ALL,
        ),
        ProtocolLevel.BROKER_EPOCH,
    )
    | dict.fromkeys(
        (
            Invariant.LINEARIZABLE_CONFIG,
            Invariant.FORWARDED_ONCE,
            Invariant.PRINCIPAL_KEPT,
            Invariant.ONLY_CONTROLLER_WRITES,
        ),
        ProtocolLevel.CONTROLLER_MUTATIONS,
    )
    | {Invariant.METADATA_IN_ORDER: ProtocolLevel.MAX_BROKER_EPOCH}
)
"""Checks of what no lower level names."""
_OPTIONAL = frozenset({Invariant.MUTATION_QUOTA_KEPT})
"""Checks of what is off by default, at each level."""


_OF_FEATURES = frozenset({Invariant.MIN_INSYNC_REPLICAS, Invariant.SEQUENCES_IN_ORDER})
"""Checks of what an implementation of any level may lack: that an append waits for more than one
replica, and numbers of producers. The scenarios that need it are `UNSUPPORTED` then."""


def is_promised(invariant: Invariant, level: int | None, *, is_reference: bool = True) -> bool:
    """False of a check to which runs of this level may give nothing to decide; None: any level.

    `is_reference`: of the implementation that has all features.
    """
    if invariant in _OPTIONAL or (invariant in _OF_FEATURES and not is_reference):
        return False
    return level is None or level >= _FROM_LEVEL.get(invariant, min(ProtocolLevel))


VACUOUS = "vacuous: no check had anything to decide"

IMPLIED_BY: Mapping[Invariant, tuple[Invariant, ...]] = MappingProxyType(
    {Invariant.COMMITTED_DURABLE: (Invariant.LEADER_COMPLETE, Invariant.LOG_MATCHING)}
)
"""Invariants of the specs that need no check of their own; `leader_complete` says why."""


def run_check(
    check: InvariantCheck, events: Sequence[TraceEvent], dialect: TraceDialect = SPEC
) -> CheckResult:
    """The result of one check over a whole run, partitions split and merged."""
    return _judge_run(check, events, _parts_of(events) if check.per_partition else [], dialect)


def run_checks(
    events: Sequence[TraceEvent], dialect: TraceDialect = SPEC
) -> tuple[CheckResult, ...]:
    """One result per check over all events of one run, given in any order, in `CHECKS` order."""
    parts = _parts_of(events)
    return tuple(_judge_run(check, events, parts, dialect) for check in CHECKS.values())


def _parts_of(events: Sequence[TraceEvent]) -> list[list[TraceEvent]]:
    """What belongs to no partition but is set for all, then the events of each partition."""
    begun = [event for event in events if event.action in RUN_STARTED]
    return [begun, *split_by_partition(events).values()]


def _judge_run(
    check: InvariantCheck,
    events: Sequence[TraceEvent],
    parts: Sequence[list[TraceEvent]],
    dialect: TraceDialect,
) -> CheckResult:
    """The result over a run; `parts` are those of its events, for a check of partitions."""
    if not check.per_partition:
        return check.judge(events, dialect)
    begun, *others = parts
    read = [part for part in others if any(event.action in check.reads for event in part)]
    return merge(check.invariant, [check.judge([*begun, *part], dialect) for part in read])


def judge(events: Sequence[TraceEvent]) -> list[str]:
    """What the step `check` of a story prints: what the trace violates; nothing if all is well."""
    results = run_checks(events)
    violated = sorted(result.invariant.value for result in results if result.violations)
    if judge_elections(events)[1]:
        violated.append(UNCLEAN_ONLY_IF_ISR_DEAD)
    if violated or any(result.premise_count for result in results):
        return [f"violated: {name}" for name in violated]
    return [VACUOUS]
