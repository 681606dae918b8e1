"""The workload of a simulated run: topics, clients, and connections that break by chance."""

from functools import partial

from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.engine.options import TOPIC
from fencepost.impl.sim.requests.by_hand import start_hand_writers
from fencepost.impl.sim.requests.quota_workload import start_quota_clients
from fencepost.impl.sim.world.admin_workload import (
    KEYS_OF_EVERYTHING,
    SimulatedAdministrator,
    everything,
    keys_of_topic_changes,
    moves_of,
    start_config_clients,
    topic_changes,
    write_bad_topic,
)
from fencepost.impl.sim.world.clients import (
    SimulatedClient,
    SimulatedConsumer,
    TopicCreator,
    senders_of,
)
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.znodes import TopicPartition

START_MS = 8_000
"""At the latest, every partition has its first leader after this time."""


def create_topic(cluster: VirtualCluster, topic: str, partitions: int) -> list[TopicPartition]:
    """Create the topic, and wait until its partitions have leaders; returns the partitions."""
    creator = TopicCreator(cluster, topic, partitions)
    creator.begin_asking()
    cluster.scheduler.run_until(START_MS, partial(is_converged, cluster))
    return creator.keys


def start_clients(cluster: VirtualCluster, keys: list[TopicPartition]) -> list[SimulatedClient]:
    """Start all clients of the options on these partitions; they work until they are stopped."""
    options = cluster.options
    administrators: list[SimulatedClient] = []
    if options.founds:
        keys.extend(key for key in keys_of_topic_changes(cluster) if key not in keys)
        founder = SimulatedAdministrator(
            cluster, "client-founder", topic_changes, restores_topic=True
        )
        founder.begin_work()
        administrators.append(founder)
    if options.asks:
        keys.extend(key for key in KEYS_OF_EVERYTHING if key not in keys)
        asker = SimulatedAdministrator(cluster, "client-asker", everything, restores_topic=True)
        asker.begin_work()
        administrators.append(asker)
    administrators += start_hand_writers(cluster)
    if options.bad_topic:
        write_bad_topic(cluster)
    names = [f"client-{n}" for n in range(1, options.producers + options.consumers + 1)]
    workers = start_workers(cluster, names, options.producers, keys)
    creators = _late_creators(cluster, keys)
    if options.moves:
        mover = SimulatedAdministrator(cluster, "client-mover", moves_of(keys))
        mover.begin_work()
        administrators.append(mover)
    changing = [*start_config_clients(cluster), *start_quota_clients(cluster)]
    return [*workers, *creators, *administrators, *changing]


def start_workers(
    cluster: VirtualCluster, names: list[str], producers: int, keys: list[TopicPartition]
) -> list[SimulatedClient]:
    """Start a client of each name on the partitions: so many producers, the rest consumers."""
    writing = [one for name in names[:producers] for one in senders_of(cluster, name, keys)]
    reading = [SimulatedConsumer(cluster, name, keys) for name in names[producers:]]
    for client in (*writing, *reading):
        client.go_on_later()
    return [*writing, *reading]


def _late_creators(cluster: VirtualCluster, keys: list[TopicPartition]) -> list[SimulatedClient]:
    """Schedule the creation of more topics; clients with these `keys` use them at once."""
    options, random = cluster.options, cluster.random("late topics")
    creators: list[SimulatedClient] = []
    for n in range(options.late_topics):
        name = f"client-admin-{n + 1}"
        creator = TopicCreator(cluster, f"{TOPIC}{n + 1}", random.choice((1, 1, 3)), name)
        delay_ms = random.randrange(1 + options.duration_ms * 2 // 3)
        cluster.scheduler.after_ms(delay_ms, creator.begin_asking)
        cluster.scheduler.after_ms(delay_ms, partial(keys.extend, creator.keys))
        creators.append(creator)
    return creators


def break_connections(cluster: VirtualCluster) -> None:
    """Schedule breaks of ZooKeeper connections, as many as the options say, for their duration."""
    options = cluster.options
    random = cluster.random("connections")
    for second in range(options.duration_ms // 1000):
        for broker_id in sorted(cluster.disks):
            if random.random() < options.connection_breaks:
                delay_ms = second * 1000 + random.randrange(1000)
                cluster.scheduler.after_ms(delay_ms, partial(cluster.break_connection, broker_id))
