"""Wrong rules of what the controller learns: brokers and topics that come and go (ZK, BEP, TOP)."""

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import replace

from fencepost.impl.core.rules.controller.controller_election import WatchedReading
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.types.refusals import Refusal
from fencepost.impl.core.types.zookeeper import Znode
from fencepost.impl.mutants.mutant import hunted_at, mutant, suite_mutant
from fencepost.spec.vocabulary import (
    BrokerEpoch,
    BrokerId,
    ErrorCode,
    Invariant,
    Liveness,
    ProtocolLevel,
)
from fencepost.spec.znodes import MalformedZnodeError, parse_topic_document


def _topic(znode: Znode) -> str:
    return znode.path.rpartition("/")[2]


def _is_malformed(znode: Znode) -> bool:
    try:
        parse_topic_document(znode.path, znode.data)
    except MalformedZnodeError:
        return znode.stat is not None
    return False


@hunted_at(ProtocolLevel.BROKER_EPOCH)
@mutant(14, "ZK-004", {Liveness.EVENTUALLY_LEADER}, seed=495)
def retry_keeps_live_brokers(rules: Rules) -> Rules:
    """A retry keeps the live brokers that it has; a watch that fires then is used up."""
    return replace(rules, reads_broker_change=lambda undecided: not undecided)


@mutant(
    42,
    "BEP-006",
    {Liveness.BROKER_EVENTUALLY_LEARNS_ROLE, Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def compare_broker_ids_only(rules: Rules) -> Rules:
    """The controller looks at the ids of live brokers, not at their registrations."""
    return replace(rules, changed_brokers=lambda before, after: frozenset(before ^ after.keys()))


@mutant(58, "TOP-003", {Liveness.EVENTUALLY_LEADER}, shows="EventuallyLeader")
def compare_topic_names_only(rules: Rules) -> Rules:
    """The controller knows a topic by its name: one that was created again is the old one."""

    def topics_to_learn(known: AbstractSet[str], znodes: Sequence[Znode]) -> Sequence[Znode]:
        found = rules.topics_to_learn(known, znodes)
        return [znode for znode in found if znode.stat is None or _topic(znode) not in known]

    return replace(rules, topics_to_learn=topics_to_learn)


@mutant(60, "TOP-004", {Liveness.EVENTUALLY_LEADER}, shows="EventuallyLeader")
def assign_to_any_broker(rules: Rules) -> Rules:
    """A topic is created as asked for, whichever brokers are to have its replicas."""
    return replace(
        rules,
        refuse_topic=lambda request, live: (
            None if request.assignment else rules.refuse_topic(request, live)
        ),
    )


@mutant(72, "CTL-010", {Liveness.EVENTUALLY_LEADER}, shows="EventuallyLeader")
def fail_over_without_watches(rules: Rules) -> Rules:
    """A new controller reads the live brokers and sets no watch."""
    return replace(rules, watched=rules.watched - {WatchedReading.LIVE_BROKERS_AT_FAIL_OVER})


@mutant(73, "CTL-012", {Liveness.EVENTUALLY_LEADER}, shows="EventuallyLeader")
def successor_tells_nothing(rules: Rules) -> Rules:
    """A new controller tells what it decides, not what it finds decided."""
    return replace(rules, told_at_fail_over=lambda _keys: ())


@mutant(240, "CTL-010", {Invariant.CONTROLLER_IN_ORDER})
def act_before_reading(rules: Rules) -> Rules:
    """A new controller takes what it has not read for new, and reads it when a write is refused."""
    return replace(rules, read_at_fail_over=lambda keys: keys[::2])


@mutant(75, "ZK-002", {Liveness.EVENTUALLY_LEADER}, shows="EventuallyLeader")
def malformed_topic_ends_reading(rules: Rules) -> Rules:
    """A topic that cannot be read ends the reading of all."""

    def topics_to_learn(known: AbstractSet[str], znodes: Sequence[Znode]) -> Sequence[Znode]:
        found = rules.topics_to_learn(known, znodes)
        bad = [place for place, znode in enumerate(found) if _is_malformed(znode)]
        return found[: bad[0] + 1] if bad else found

    return replace(rules, topics_to_learn=topics_to_learn)


@suite_mutant("TOP-003")
def create_what_exists(rules: Rules) -> Rules:
    """The creation of a topic that exists is granted, and does nothing."""
    return replace(rules, existing_topic=lambda _topic: Refusal(ErrorCode.NONE, ""))


@suite_mutant("TOP-002")
def delete_what_is_missing(rules: Rules) -> Rules:
    """The deletion of a topic that does not exist is granted."""
    return replace(rules, missing_topic=lambda _topic: Refusal(ErrorCode.NONE, ""))


@suite_mutant("FAIL-008")
def arrivals_go_unnoticed(rules: Rules) -> Rules:
    """The controller looks for brokers that went, and sends nothing to those that came."""

    def changed_brokers(
        before: Mapping[BrokerId, BrokerEpoch], after: Mapping[BrokerId, BrokerEpoch]
    ) -> frozenset[BrokerId]:
        return frozenset(before.keys() - after.keys())

    return replace(rules, changed_brokers=changed_brokers)
