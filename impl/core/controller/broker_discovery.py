"""What the controller notices about brokers: one came, went, or came back (V3 A.1).

`DetectBrokerChange` of the specs. Live brokers are known by the czxid of their registration.
"""

from collections.abc import Generator

from fencepost.impl.core.controller.controller_generation import ControllerResources
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.scripts import Answer, Ask, list_children, read
from fencepost.impl.core.types.znode_reading import parsed, registered
from fencepost.impl.core.types.zookeeper import Znode
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import BROKER_IDS, broker_path, parse_broker

Changed = frozenset[BrokerId] | None
"""Brokers that came, went or came back; None when the generation or the connection ended."""


def read_live_brokers(
    resources: ControllerResources, *, watch: bool = True
) -> Generator[Ask, Answer, Changed]:
    """The context knows the live brokers; returns those that changed since the last reading."""
    listed = yield from list_children(BROKER_IDS, watch=watch)
    if resources.generation.is_over() or listed is None:
        return None
    config, znodes = resources.config, list[Znode]()
    for paths in config.rules.reads_in_parts([*map(broker_path, registered(listed[0]))]):
        part = yield from read(*paths)
        if resources.generation.is_over() or part is None:
            return None
        znodes += part
    context, by_path = resources.context, {one.path: one for one in znodes}
    live = {**config.rules.known_registrations(context.registered_in(znodes), listed[0].pzxid)}
    changed = config.rules.changed_brokers(context.live, live)
    endpoints = {
        broker_id: document
        for broker_id in live
        if (document := parsed(parse_broker, by_path[broker_path(broker_id)])) is not None
    }
    context.learn_brokers(live, endpoints, changed)
    return changed


def apply_broker_change(
    resources: ControllerResources, changed: frozenset[BrokerId], *, is_loaded: bool
) -> None:
    """What was queued for a broker that changed is void; one that came is told all it has."""
    detect_broker_change(resources)
    for broker_id in sorted(changed):
        resources.channel.drop(broker_id)
        if is_loaded and broker_id in resources.context.live:
            resources.channel.begin_init(broker_id)


@action
def detect_broker_change(resources: ControllerResources) -> None:
    """The live brokers stand in the trace as they were read (V3 A.1)."""
    live, epoch = dict(resources.context.live), resources.generation.controller_epoch
    resources.outbox.took(taken(detect_broker_change, live_brokers=live, controller_epoch=epoch))
