"""How long an election waits in a flood of mutations, without the quota and with it (QUOTA-009).

Run `python -m fencepost.ci.bench.quota [TOPICS] [DIR]`. The traces go into DIR, a new folder, and
`fencepost report DIR` draws how many partitions waited for the controller in each flood.

The experiment of KIP-599 on real processes: 5,000 topics of four partitions are created in requests
of 50, all at once, and deleted in one. In the middle the session of a broker ends that leads one
partition of another topic, and nothing else; the time is that from there to the next leader.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from shutil import copy
from threading import Event
from typing import Any

from fencepost.ci.bench.cluster_load import (
    BrokerStep,
    BrokerTraces,
    LookPace,
    assignment_of,
    create_topics,
)
from fencepost.ci.bench.control_plane import (
    DEADLINE_S,
    LEADERS,
    NS_PER_S,
    RUN_ID,
    bench_cluster,
    kill,
)
from fencepost.ci.bench.measured import Measured, show_measured
from fencepost.conformance.adapters.cluster import ClusterUnderTest
from fencepost.conformance.runs.run_folder import traced_run, write_transactions
from fencepost.spec.config_store import CONFIG_CHANGES, ConfigEntity, EntityKind, config_bytes
from fencepost.spec.trace import TRACES
from fencepost.spec.vocabulary import NEWEST_LEVEL, Action

TOPICS = 5000
TOGETHER = 50
"""Topics in one request."""
VICTIM, OTHERS = 4, (1, 2, 3)
PARTITIONS = 4
"""Of one topic."""
RATE = 10
"""Partitions per second of the quota; with the usual window 110 may come at once."""
BEFORE_S = 4.0
"""From the death of the victim to the flood: the session ends two seconds later, in its middle."""
CALL_MS = 10_000
"""How long a refused call is asked again."""
TARGET_S = 0.1
ANY_USER = ConfigEntity(EntityKind.USER, ("",))
CHANGES = {
    Action.CREATE_TOPIC.value,
    Action.DELETE_TOPIC.value,
    Action.REFUSE_MUTATION.value,
}
Flood = Callable[[Any], Sequence[Awaitable[object]]]
"""What an administrator asks for, all at once."""


def creation(names: Sequence[str]) -> Flood:
    """The topics are created, some in one request."""
    new_topic = import_module("fencepost.impl.client").NewTopic  # this room knows `impl` by name
    topics = [
        new_topic(topic=name, assignment=assignment_of(number, PARTITIONS, OTHERS))
        for number, name in enumerate(names)
    ]
    begins = range(0, len(names), TOGETHER)
    return lambda admin: [admin.create_topics(topics[one : one + TOGETHER]) for one in begins]


def deletion(names: Sequence[str]) -> Flood:
    """The topics are deleted in one request."""
    return lambda admin: [admin.delete_topics(names)]


def nothing(_admin: object) -> Sequence[Awaitable[object]]:
    """There is no flood."""
    return ()


def send(cluster: ClusterUnderTest, flood: Flood) -> None:
    """All requests are sent a while from now; over when each is done or has no more time."""
    client = import_module("fencepost.impl.client")
    options = client.ClientOptions(api_timeout_ms=CALL_MS, request_timeout_ms=CALL_MS)

    async def ask() -> None:
        async with client.Admin(cluster.addresses(), options=options) as admin:
            await asyncio.gather(*flood(admin), return_exceptions=True)

    Event().wait(BEFORE_S)
    asyncio.run(ask())


def set_rate(cluster: ClusterUnderTest, rate: int | None) -> None:
    """Every user has this quota, or none; brokers hear of it by their watch."""
    znodes, path = cluster.znodes, ANY_USER.path
    entries = {} if rate is None else {"controller_mutation_rate": str(rate)}
    changes = f'{{"version":1,"changes":[["{path}"]]}}'.encode()
    for one, data in ((path, config_bytes(entries)), (CONFIG_CHANGES, changes)):
        znodes.create_path(one)
        znodes.set(one, data, version=-1)


def election(cluster: ClusterUnderTest, number: int, flood: Flood) -> tuple[float, str]:
    """Seconds from the end of the victim's session to the next leader, and what was done then.

    The victim is back, and the flood over, when it returns.
    """
    partition = PARTITIONS + number

    def is_seen(step: BrokerStep) -> bool:
        return step.partition == partition or step.action in CHANGES

    traces = BrokerTraces(cluster.folder)
    replicas = [[OTHERS[0]]] * partition + [[VICTIM, OTHERS[0]]]
    create_topics(cluster, {f"probe-{number}": replicas})
    traces.until(LEADERS, 1, DEADLINE_S, is_seen)
    with ThreadPoolExecutor(1) as executor:
        executor.submit(send, cluster, flood)
        gone_ns = kill(cluster, VICTIM)
        steps = traces.until(LEADERS, 1, DEADLINE_S, is_seen)
    leads_ns = next(step.mono_ns for step in steps if step.action in LEADERS)
    done = Counter(step.action for step in steps if step.mono_ns < leads_ns)
    cluster.restart(VICTIM)
    pace = LookPace(DEADLINE_S, f"broker {VICTIM}")
    while VICTIM not in cluster.state.live_brokers():
        pace.wait()
    told = ", ".join(f"{done[action]:,} {action}" for action in sorted(done.keys() & CHANGES))
    return (leads_ns - gone_ns) / NS_PER_S, told


def measured(topic_count: int, kept: Path | None = None) -> Iterator[Measured]:
    """An election alone, and in each of four floods; the traces go into the folder `kept`."""
    names = [f"topic-{number:05d}" for number in range(topic_count)]
    others = [f"other-{number:05d}" for number in range(topic_count)]
    size = f"{topic_count:,} topics x {PARTITIONS} partitions, RF 3, 4 brokers"
    floods: list[tuple[str, Flood, int | None]] = [
        ("election, no flood", nothing, None),
        ("election amid creations, quota", creation(others), RATE),
        ("election amid creations, no quota", creation(names), None),
        ("election amid a deletion, quota", deletion(names), RATE),
        ("election amid a deletion, no quota", deletion(names), None),
    ]
    with bench_cluster(VICTIM, flags=("--mutation-quota",), first_controller=OTHERS[0]) as cluster:
        begun = {"brokers": VICTIM, "level": NEWEST_LEVEL, **cluster.settings.implementation.told}
        with traced_run(cluster.folder, RUN_ID, begun=begun, ending=dict[str, object]):
            for number, (what, flood, rate) in enumerate(floods):
                # The probe is created without the quota, which then begins with a full bucket.
                set_rate(cluster, None)
                seconds, told = election(cluster, number, limited(cluster, flood, rate))
                target = None if rate is None and flood is not nothing else TARGET_S
                yield Measured(what=what, size=size, figure=seconds, target=target, parts=told)
        if kept is not None:
            keep(cluster, kept)


def keep(cluster: ClusterUnderTest, folder: Path) -> None:
    """The traces of the run, with ZooKeeper's own, go into a new folder."""
    folder.mkdir(parents=True)
    for trace in cluster.folder.glob(TRACES):
        copy(trace, folder)
    write_transactions(folder, RUN_ID, cluster.zookeeper.transactions())


def limited(cluster: ClusterUnderTest, flood: Flood, rate: int | None) -> Flood:
    """The flood, under a quota that is set when it begins."""

    def begin(admin: object) -> Sequence[Awaitable[object]]:
        set_rate(cluster, rate)
        return flood(admin)

    return begin


def main(counts: Sequence[str]) -> None:
    """Measure with so many topics, and keep the traces in a folder if one is named."""
    topic_count, *folders = counts or [str(TOPICS)]
    kept = Path(folders[0]) if folders else None
    show_measured("mutation quota", measured(int(topic_count), kept))


if __name__ == "__main__":
    main(sys.argv[1:])
