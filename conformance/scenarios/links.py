"""The ways between brokers, clients and ZooKeeper are hurt, one fault after the other."""

from collections.abc import Callable, Iterable

from fencepost.conformance.runs.scenario import TOPIC, Scenario, ScenarioStage
from fencepost.fault_injection.faults.catalogue import KINDS
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.network_faults import (
    BridgeBrokers,
    CutOneWay,
    DelayLink,
    FlapBroker,
    IsolateBroker,
    NarrowLink,
    PartitionBrokers,
    ResetStreams,
    RingOfMajorities,
    SwizzleBrokers,
)
from fencepost.fault_injection.faults.targets import CONTROLLER, broker, follower, leader
from fencepost.fault_injection.faults.zookeeper_faults import (
    CutZooKeeper,
    DelayZooKeeper,
    DropConnection,
    ExpireSession,
    HurtZooKeeperLink,
    LoseZooKeeperReplies,
)
from fencepost.fault_injection.stories.schedule import Schedule, TimedFault

SHORT_MS = 800
"""Less than a session, and than what drives a follower out of the ISR."""
WRITES_AFTER_MS = 100
"""From the fault on its connection to what makes the controller write."""


def _one_by_one(
    faults_of: Callable[[ScenarioStage], Iterable[Fault]],
) -> Callable[[ScenarioStage], None]:
    """Each fault is healed before the next one begins."""

    def play(stage: ScenarioStage) -> None:
        for number, fault in enumerate(faults_of(stage), start=1):
            timed = TimedFault(fault_id=f"fault-{number}", at_ms=0, fault=fault)
            stage.engine.run(Schedule(seed=stage.seed, faults=(timed,)))

    return play


def _between_brokers(stage: ScenarioStage) -> Iterable[Fault]:
    long_ms = stage.cluster.session_timeout_ms + SHORT_MS
    first = stage.cluster.settings.broker_ids[0]
    return (
        IsolateBroker(target=leader(TOPIC), for_ms=long_ms),
        PartitionBrokers(side=(first,), for_ms=SHORT_MS),
        CutOneWay(sender=follower(TOPIC), receiver=leader(TOPIC), for_ms=SHORT_MS),
        BridgeBrokers(target=CONTROLLER, for_ms=SHORT_MS),
        RingOfMajorities(for_ms=SHORT_MS),
    )


def _restless(stage: ScenarioStage) -> Iterable[Fault]:
    ids = stage.cluster.settings.broker_ids
    return (
        SwizzleBrokers(cut=ids[:2], back=ids[:2], gap_ms=SHORT_MS // 2),
        FlapBroker(target=leader(TOPIC), cut_ms=200, open_ms=200, for_ms=SHORT_MS),
        DelayLink(sender=leader(TOPIC), delay_ms=50, jitter_ms=20, for_ms=SHORT_MS),
        NarrowLink(sender=leader(TOPIC), kb_per_s=5, for_ms=SHORT_MS),
        ResetStreams(sender=follower(TOPIC), receiver=leader(TOPIC), every_ms=300, for_ms=SHORT_MS),
    )


def _to_zookeeper(stage: ScenarioStage) -> Iterable[Fault]:
    long_ms = stage.cluster.session_timeout_ms + SHORT_MS
    return (
        CutZooKeeper(target=leader(TOPIC), for_ms=long_ms),
        HurtZooKeeperLink(target=CONTROLLER, direction="s2c", for_ms=long_ms),
        HurtZooKeeperLink(target=follower(TOPIC), direction="c2s", for_ms=SHORT_MS),
        HurtZooKeeperLink(target=leader(TOPIC), mode="reset", for_ms=SHORT_MS),
        HurtZooKeeperLink(target=leader(TOPIC), mode="refuse", for_ms=SHORT_MS),
        DropConnection(target=CONTROLLER, every_ms=300, for_ms=SHORT_MS),
        DelayZooKeeper(target=CONTROLLER, delay_ms=100, for_ms=SHORT_MS),
    )


def _lost_replies(stage: ScenarioStage) -> None:
    """The controller decides, since a session ends; it never hears that its decision was done."""
    controller = stage.cluster.controller()
    other = stage.others(controller)[0]
    loses = LoseZooKeeperReplies(target=broker(controller or other), count=2, for_ms=SHORT_MS)
    faults = (
        TimedFault(fault_id="lose", at_ms=0, fault=loses),
        TimedFault(
            fault_id="decide", at_ms=WRITES_AFTER_MS, fault=ExpireSession(target=broker(other))
        ),
    )
    stage.engine.run(Schedule(seed=stage.seed, faults=faults))


SCENARIOS = (
    Scenario(
        name="links_cut",
        sentence="Brokers do not reach each other, in every way in which a network can fall apart.",
        requirements=("ISR-001", "CMD-010", "CTL-012"),
        play=_one_by_one(_between_brokers),
        needs_links=True,
    ),
    Scenario(
        name="links_restless",
        sentence="Brokers come and go, messages are late or slow, connections break.",
        requirements=("ISR-001", "REPL-004", "CMD-002"),
        play=_one_by_one(_restless),
        needs_links=True,
        needs_proxy=KINDS[ResetStreams.kind].needs_proxy,
    ),
    Scenario(
        name="zookeeper_links",
        sentence="Brokers do not reach ZooKeeper, or are not reached, or lose their connections.",
        requirements=("CTL-008", "ISR-004", "ZK-003", "ZK-006"),
        play=_one_by_one(_to_zookeeper),
        needs_links=True,
        needs_proxy=KINDS[HurtZooKeeperLink.kind].needs_proxy,
    ),
    Scenario(
        name="zookeeper_replies_lost",
        sentence="ZooKeeper does what the controller writes, and the controller never hears of it.",
        requirements=("ZK-006",),
        play=_lost_replies,
        needs_links=True,
        needs_proxy=KINDS[LoseZooKeeperReplies.kind].needs_proxy,
    ),
)
