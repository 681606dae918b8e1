"""Whether an implementation declares what a run, or a kind of fault, needs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import structs

from fencepost.conformance.adapters.implementation import Capability, Implementation
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.process_faults import RollBrokers
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.stories.steps.observation import Observation
from fencepost.fault_injection.stories.steps.story_step import (
    ConsumeStep,
    ControlStep,
    CreateTopicStep,
    DeleteTopicStep,
    FaultStep,
    HealStep,
    ProduceStep,
    StoryStep,
    WaitForStep,
    seen_by,
    verb_of,
)
from fencepost.fault_injection.stories.story import AfterEvent, Story, Trigger
from fencepost.fault_injection.stories.story_file import awaited_by, fault_of
from fencepost.spec.vocabulary import NO_EPOCH, NO_PRODUCER

_PROCESSES = frozenset({Capability.PROCESSES})
_ZOOKEEPER = frozenset({Capability.ZOOKEEPER})
_FAULT_CONTROL = frozenset({Capability.FAULT_CONTROL})
_CONTROL = frozenset({Capability.CONTROL})
_FLUSH_RECORD = frozenset({Capability.FLUSH_RECORD})

NEEDED: Mapping[str, frozenset[Capability]] = MappingProxyType(
    {
        "proc.": _PROCESSES,
        "proc.kill": frozenset(),
        "proc.term": frozenset(),
        "proc.crash_at": _PROCESSES | _FAULT_CONTROL,
        "proc.bounce_fast": _PROCESSES | _ZOOKEEPER,
        "proc.rolling.upgrade": _PROCESSES | {Capability.VERSIONS},
        "cpu.": _PROCESSES,
        "clock.": _FAULT_CONTROL,
        "disk.": _PROCESSES | _FAULT_CONTROL,
        "disk.lose_unsynced": _PROCESSES | _FLUSH_RECORD,
        "disk.corrupt_tail": _PROCESSES | _FLUSH_RECORD,
        "rpc.": frozenset({Capability.REQUESTS}),
        "rpc.error": _FAULT_CONTROL,
        "rpc.stream_reset": _PROCESSES | {Capability.LINKS},
        "net.": _PROCESSES | {Capability.LINKS},
        "zk.": _ZOOKEEPER,
        "zk.expire.asked": _ZOOKEEPER | _FAULT_CONTROL,
        "admin.": _ZOOKEEPER,
        "client.": frozenset(),
        "load.": frozenset(),
        "step.": frozenset(),
        **dict.fromkeys(
            ("step.alter_config", "step.alter_quota", "step.create_acls", "step.delete_acls"),
            frozenset({Capability.CONFIGURATION}),
        ),
        "step.pause": _PROCESSES,
        "step.expire": _ZOOKEEPER | _FAULT_CONTROL,
        "step.znode": _ZOOKEEPER,
        "step.create_znode": _ZOOKEEPER,
        "step.set_znode": _ZOOKEEPER,
        "step.delete_znode": _ZOOKEEPER,
        # A controller that is looked at has to be one of the brokers.
        "see.": frozenset(),
        "see.controller": _ZOOKEEPER,
        "see.config_version_at": frozenset({Capability.CONFIGURATION}),
        "command.": _CONTROL,
        "command.UpdateMetadata": _CONTROL | {Capability.UPDATE_METADATA},
        "command.ControlledShutdown": _CONTROL | {Capability.CONTROLLED_SHUTDOWN},
        "setting.": frozenset(),
        "setting.unclean_leader_election": frozenset({Capability.UNCLEAN_ELECTIONS}),
        "setting.min_insync_replicas": frozenset({Capability.MIN_INSYNC_REPLICAS}),
        "produce.producer_id": frozenset({Capability.PRODUCER_NUMBERS}),
        "fetch.leader_epoch": frozenset({Capability.FETCH_EPOCHS}),
        "await.line": frozenset({Capability.LIVE_TRACE}),
        "topic.again": frozenset({Capability.INCARNATIONS}),
        "topic.prompt_deletion": frozenset({Capability.PROMPT_DELETION}),
    }
)
"""What a story asks for, or the prefix of an area -> what it needs; the longest name decides.

Kinds of faults have their own names; `asked_by` gives the others.
"""


class UnsupportedFaultError(InjectionError):
    """A fault needs what the implementation does not declare; says what."""


def refusal(implementation: Implementation, needs: frozenset[Capability]) -> str:
    """Why a run that needs these is `UNSUPPORTED`; empty when the implementation declares all."""
    missing = (needs | implementation.needs) - implementation.capabilities
    names = ", ".join(sorted(missing))
    return f"{implementation.name} does not declare what the run needs: {names}" if missing else ""


def needed_of(cluster: Mapping[str, object]) -> frozenset[Capability]:
    """What the settings of a cluster need."""
    return needed(_settings(cluster))


def asked_by(story: Story) -> Iterator[str]:
    """What the story asks for, as `NEEDED` names it; raises `FaultError` for what is wrong."""
    yield from _settings(story.cluster)
    for action in story.actions:
        yield _asked(action.fault)
        yield from _lines(action.when, action.until)
    for step in story.steps:
        yield f"step.{verb_of(step)}"
        yield from (f"see.{Observation.parsed(name).name}" for name in seen_by(step))
        match step:
            case FaultStep():
                yield _asked(fault_of(step))
            case WaitForStep():
                yield from _lines(awaited_by(step))
            case ControlStep():
                yield f"command.{step.control}"
            case ConsumeStep() if step.leader_epoch != NO_EPOCH:
                yield "fetch.leader_epoch"
            case ProduceStep() if step.producer_id != NO_PRODUCER:
                yield "produce.producer_id"
    created = [step.create_topic for step in story.steps if isinstance(step, CreateTopicStep)]
    deleted = {step.delete_topic for step in story.steps if isinstance(step, DeleteTopicStep)}
    if any(created.count(topic) > 1 for topic in deleted):
        yield "topic.again"
    if _deletes_while_one_is_down(story.steps):
        yield "topic.prompt_deletion"


def _deletes_while_one_is_down(steps: Iterable[StoryStep]) -> bool:
    """Whether the answer to a deletion is awaited before a broker is back."""
    down = set[str]()
    for step in steps:
        match step:
            case FaultStep() if fault_of(step).kind.startswith("proc."):
                down.add(step.id)
            case HealStep():
                down.discard(step.heal)
            case DeleteTopicStep() if down and step.wait:
                return True
    return False


def _settings(cluster: Mapping[str, object]) -> Iterator[str]:
    """Those that ask for something; one replica in sync is what every leader has."""
    asked = {name: value for name, value in cluster.items() if value}
    if asked.get("min_insync_replicas") == 1:
        del asked["min_insync_replicas"]
    return (f"setting.{name}" for name in asked)


def _lines(*awaited: Trigger | None) -> Iterator[str]:
    return ("await.line" for one in awaited if isinstance(one, AfterEvent))


def _asked(fault: Fault) -> str:
    """To end a session at ZooKeeper alone needs no word of its owner; other modes do."""
    if isinstance(fault, RollBrokers) and fault.is_upgrade:
        return f"{fault.kind}.upgrade"
    is_asked = isinstance(fault, ExpireSession) and fault.mode != "server"
    return f"{fault.kind}.asked" if is_asked else fault.kind


def require_supported(implementation: Implementation, faults: Sequence[Fault]) -> None:
    """Raise `UnsupportedFaultError` unless the implementation can have all these faults."""
    if missing := needed_by(faults) - implementation.capabilities:
        kinds = ", ".join(sorted({fault.kind for fault in faults}))
        raise UnsupportedFaultError(
            f"{implementation.name} does not declare what {kinds} needs: "
            f"{', '.join(sorted(missing))}"
        )


def offered(implementation: Implementation, kinds: Iterable[str]) -> list[str]:
    """Those of the kinds that the implementation can have, in one form at least."""
    return [kind for kind in kinds if needed([kind]) <= implementation.capabilities]


def as_offered(implementation: Implementation, fault: Fault) -> Fault:
    """The fault in the form that the implementation can have."""
    if isinstance(fault, ExpireSession) and not needed_by([fault]) <= implementation.capabilities:
        return structs.replace(fault, mode="server")
    return fault


def needed_by(faults: Iterable[Fault]) -> frozenset[Capability]:
    """All that an implementation must declare for these faults; raises `FaultError`."""
    return needed(map(_asked, faults))


def needed(kinds: Iterable[str]) -> frozenset[Capability]:
    """The least that an implementation must declare for these kinds; raises `FaultError`."""
    return frozenset().union(*map(_needed, kinds))


def _needed(kind: str) -> frozenset[Capability]:
    names = [name for name in NEEDED if kind.startswith(name)]
    if not names:
        raise FaultError(
            f"unknown fault {kind!r}: nothing says what an implementation must declare for it; "
            "add its area to NEEDED in conformance/adapters/capabilities.py"
        )
    return NEEDED[max(names, key=len)]
