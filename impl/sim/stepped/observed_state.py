"""The abstract state of a stepped cluster: what `spec_state.canonical` is for the specs.

Not compared, and why:
* czxids, session ids and the data of registrations: the specs leave them out.
* `budget`: it bounds the specs, the core has none.
* `is_watching` and `is_isr_alive` of a controller: they belong to rules that the core does not
  break. `heard` of a replica is history. `place` in an ordered link: the stepper's links keep no
  order.
* `is_truncated` of a replica with an empty log: the core has nothing to ask then.
* `to_send` and messages to brokers that the core does not command: a broker that is not live in the
  controller's eyes, and a state that a decision is about to replace (`StepContext.never_sent`).
* `expected_version` under `no_znode_version_check`: the core's write has none.
* a replica's `controller_epoch` under `accept_older_controller_epoch` and under
  `commands_without_epochs`: the core's never falls.
* A deposed controller that learned so from its refused write: it resigns at once, the specs' later.
* `decision` that the core takes at once after the one before, the specs later
  (`StepContext.is_hidden`).
* `controller_epoch` of a state that a leader wrote: the core has that of the last command that
  the leader obeyed, the specs' of the controller that decided (`spec/znodes.py`).
* `acknowledged` that the core did not answer: the specs have no clients and count every committed
  record; the core's must be among them. Under `inclusive_high_watermark` the core may be early: it
  answers when it reads the high watermark, the specs when they move it.
"""

from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.effects import WriteZnodes
from fencepost.impl.core.types.events import ZnodesRead
from fencepost.impl.core.types.messages import FetchResponse
from fencepost.impl.core.types.scripts import Ask
from fencepost.impl.core.types.zookeeper import Create, SetData, Znode
from fencepost.impl.paced import PacedFetcher
from fencepost.impl.sim.stepped.broker import HeldAsk, SteppedBroker
from fencepost.impl.sim.stepped.cluster import (
    FetchAnswer,
    HeldCommand,
    SteppedWorld,
    is_answered_state_read,
)
from fencepost.impl.sim.stepped.spec_state import (
    KEY,
    NO_VERSION,
    STATE,
    Abstract,
    Plain,
    bag,
    records_of,
)
from fencepost.spec.vocabulary import NO_BROKER, NO_EPOCH
from fencepost.spec.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    parse_leader_and_isr,
    topic_path,
)

_DOWN: Abstract = {
    "controller_epoch": 0,
    "is_reply_lost": False,
    "isr": [],
    "leader": NO_BROKER,
    "leader_epoch": NO_EPOCH,
    "pending_isr": [],
    "znode_version": NO_VERSION,
}


def observe(cluster: SteppedWorld) -> Abstract:
    """The cluster as the specs would describe it."""
    setting = cluster.setting
    found: Abstract = {
        **_znodes(cluster),
        "controllers": {
            str(c): _controller(cluster, cluster.nodes[c]) for c in setting.controllers
        },
        "replicas": {str(b): _replica(cluster.nodes[b]) for b in setting.brokers},
        "messages": bag([message(command) for command in cluster.commands if command.is_sent]),
        "breaches": bag(cluster.ledger.breaches),
    }
    if setting.has_logs:
        found |= {
            "logs": {str(b): _log(cluster, cluster.nodes[b]) for b in setting.brokers},
            "fetches": bag([fetch(answer) for answer in cluster.answers]),
            "committed": bag(cluster.ledger.committed),
            "acknowledged": bag(cluster.ledger.acknowledged),
        }
    return found


def message(command: HeldCommand) -> Abstract:
    """A command in flight."""
    (state,) = command.request.partitions
    return {
        "controller_epoch": command.request.controller_epoch,
        "copy": command.copy,
        "from": command.sender,
        "isr": sorted(state.isr),
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "to": int(command.send.to),
        "znode_version": state.znode_version,
    }


def fetch(answer: FetchAnswer) -> Abstract:
    """An answer to a fetch in flight; its epoch is the asker's."""
    response = answer.response
    assert isinstance(response, FetchResponse)
    return {
        "copy": answer.copy,
        "from": answer.leader,
        "high_watermark": response.high_watermark,
        "leader_epoch": answer.leader_epoch,
        "offset": response.fetch_offset,
        "records": records_of(response.records),
        "to": answer.follower,
    }


def _znodes(cluster: SteppedWorld) -> Abstract:
    zookeeper, setting = cluster.zookeeper, cluster.setting
    epoch = zookeeper.peek(CONTROLLER_EPOCH)
    assert epoch.stat is not None
    return {
        "registered": [b for b in setting.brokers if cluster.is_registered(b)],
        "controller": cluster.controller(),
        "controller_epoch": [int(epoch.data), epoch.stat.version],
        "topic": zookeeper.peek(topic_path(KEY.topic)).stat is not None,
        "state": state_of(zookeeper.peek(STATE)),
    }


def state_of(znode: Znode) -> Abstract | None:
    """A LeaderAndISR document with its version."""
    if znode.stat is None:
        return None
    return {**_document(znode.data), "znode_version": znode.stat.version}


def _document(data: bytes) -> Abstract:
    state = parse_leader_and_isr(STATE, data)
    return {
        "controller_epoch": state.controller_epoch,
        "isr": sorted(state.isr),
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
    }


# Controllers


def _controller(cluster: SteppedWorld, broker: SteppedBroker) -> Abstract:
    controller = broker.running.controller
    is_active = controller.is_active
    brokers = set(cluster.setting.brokers)
    decision = pending_write(broker)
    return {
        "controller_epoch": controller.controller_epoch if is_active else 0,
        "decision": [] if decision is None else [_decision(decision.ask)],
        "is_reply_lost": broker.is_reply_lost,
        "live_brokers": sorted(brokers & controller.context.live.keys()) if is_active else [],
        "status": "active" if is_active else _status(broker),
        "to_send": _to_send(cluster, broker),
    }


def _status(broker: SteppedBroker) -> str:
    """`created` of a mutant that has `/controller` and has not raised the epoch yet."""
    raises = any(CONTROLLER not in h.paths and CONTROLLER_EPOCH in h.paths for h in broker.asks)
    return "created" if raises else "standing"


def pending_write(broker: SteppedBroker) -> HeldAsk | None:
    """The write of the partition's state that the node waits for."""
    return broker.held(lambda held: isinstance(held.ask, WriteZnodes) and STATE in held.paths)


def _decision(ask: Ask) -> Abstract:
    assert isinstance(ask, WriteZnodes)
    op = ask.ops[-1]
    assert isinstance(op, Create | SetData)
    version = op.expected_version if isinstance(op, SetData) else NO_VERSION
    return {"expected_version": version, "state": _document(op.data)}


def _to_send(cluster: SteppedWorld, broker: SteppedBroker) -> list[Plain]:
    """What the controller is about to tell: in commands not sent, or in a state just read."""
    if unsent := cluster.unsent(broker.number):
        told = message(unsent[-1])
        state = {name: told[name] for name in ("isr", "leader", "leader_epoch")}
        return [{"state": state, "znode_version": told["znode_version"]}]
    read = broker.held(is_answered_state_read)
    if read is None or not isinstance(read.answer, ZnodesRead) or not read.answer.znodes:
        return []
    found = state_of(read.answer.znodes[-1])
    if found is None:
        return []
    version = found.pop("znode_version")
    del found["controller_epoch"]
    return [{"state": found, "znode_version": version}]


# Replicas


def _replica(broker: SteppedBroker) -> Abstract:
    if broker.node is None:
        return {**_DOWN, "role": "down"}
    if not broker.node.broker.is_ready:
        return {**_DOWN, "role": "starting"}
    replica = broker.replica()
    epoch = broker.node.broker.controller_epoch
    if replica is None:
        return {**_DOWN, "role": "idle", "controller_epoch": epoch}
    wanted = replica.wanted_isr
    return {
        "controller_epoch": epoch,
        "is_reply_lost": broker.is_reply_lost,
        "isr": sorted(replica.isr) if replica.is_leader else [],
        "leader": replica.leader,
        "leader_epoch": replica.leader_epoch,
        "pending_isr": [] if wanted is None else [sorted(wanted)],
        "role": _role(replica),
        "znode_version": replica.znode_version,
    }


def _role(replica: Replica) -> str:
    match replica.role:
        case Role.WAITING:
            return "idle"
        case Role.FOLLOWER:
            return "follower"
        case Role.LEADER:
            return "fenced" if replica.is_fenced else "leader"
        case Role.OFFLINE:
            raise AssertionError("no log of the specs fails")


def _log(cluster: SteppedWorld, broker: SteppedBroker) -> Abstract:
    replica = broker.replica() if broker.node is not None else None
    leads = replica is not None and replica.is_leader
    ends = dict.fromkeys(cluster.setting.brokers, NO_VERSION)
    if replica is not None:
        broker.high_watermark = replica.high_watermark
        ends |= {int(f): int(p.log_end_offset) for f, p in replica.followers.items()}
    return {
        "end_offsets": {str(b): end_offset for b, end_offset in ends.items()},
        "epoch_start": replica.epoch_start_offset if replica is not None and leads else 0,
        "high_watermark": broker.high_watermark,
        "is_truncated": _is_truncated(broker, replica),
        "records": records_of(broker.records()),
    }


def _is_truncated(broker: SteppedBroker, replica: Replica | None) -> bool:
    if replica is None or replica.role is Role.WAITING:
        return False
    follower = broker.running.broker.fetcher
    is_held = isinstance(follower, PacedFetcher) and KEY in follower.held
    return not replica.needs_truncation and not is_held
