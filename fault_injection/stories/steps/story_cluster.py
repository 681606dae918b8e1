"""The port through which the player of steps knows a running cluster, virtual or of processes."""

from collections.abc import Callable, Collection
from typing import Protocol

from msgspec import UnsetType

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.targets import Target, VersionedState
from fencepost.fault_injection.injectors.injection import Registration
from fencepost.fault_injection.processes.trace_tail import Traces
from fencepost.fault_injection.stories.steps.story_step import (
    AdminStep,
    CreateTopicStep,
    ExpireStep,
    KillStep,
    PauseStep,
    RestartStep,
    ResumeStep,
)
from fencepost.fault_injection.workload.commands import ControlCommand
from fencepost.fault_injection.workload.operations import (
    Answer,
    ListOffsets,
    Operation,
    Produce,
)
from fencepost.spec.vocabulary import BrokerId

Lines = list[str]
"""What a step prints."""
Ended = Callable[[str], None]
"""Is told the outcome of an operation, one line."""
BrokerStep = KillStep | PauseStep | ResumeStep | RestartStep | ExpireStep


def answer_line(operation: Operation, answer: Answer) -> str:
    """The answer as one line."""
    if not answer.is_ok:
        return str(answer.error_code)
    if isinstance(operation, Produce):
        return f"ok offset={answer.offset}"
    if isinstance(operation, ListOffsets):
        return f"ok high_watermark={answer.high_watermark} log_end_offset={answer.log_end_offset}"
    return f"ok {' '.join(answer.values) or 'nothing'}, high_watermark={answer.high_watermark}"


class StoryCluster(Protocol):
    """A running cluster; time passes and faults take their course while a step waits.

    Faults go to the engine, which knows its world by a port of its own (`engine/world.py`).
    """

    @property
    def broker_ids(self) -> Collection[int]:
        """All brokers, dead ones too."""

    @property
    def state(self) -> VersionedState:
        """The published state."""

    @property
    def answer_ms(self) -> int:
        """Every operation has ended after that time, if only for want of an answer."""

    @property
    def now_ms(self) -> int:
        """Milliseconds since any moment."""

    def wait(self, within_ms: int, holds: Callable[[], bool]) -> bool:
        """Let time pass until it holds; false when it does not in time."""

    def later(self, after_ms: int, act: Callable[[], object]) -> None:
        """Act so much later, while time passes."""

    def traces(self) -> Traces:
        """The lines of the run from its start on, with the phases of faults."""

    def is_converged(self) -> bool:
        """True when every partition is led, and all its replicas are in sync."""

    def create_topic(self, step: CreateTopicStep) -> Lines:
        """Create the topic, and wait for its replicas; returns what is refused."""

    def operate(self, operation: Operation, broker: Target | UnsetType, ended: Ended) -> None:
        """Begin an operation, at that broker or at the published leader."""

    def administer(self, step: AdminStep, ended: Ended) -> None:
        """Begin to ask for a change; the outcome is `ok` when it is granted."""

    def registration(self, broker_id: int) -> Registration | None:
        """The broker's registration with its epoch; None without one."""

    def command(self, command: ControlCommand, to: BrokerId, ended: Ended) -> None:
        """Begin to send a command to that broker; the outcome is the line of its answer."""

    def begin_fault(self, fault_id: str, fault: Fault, after_ms: int) -> None:
        """Inject the fault, now or so much later."""

    def heal_fault(self, fault_id: str) -> bool:
        """Heal the fault of that id; false when there is none to heal."""

    def act_on(self, broker_id: BrokerId, step: BrokerStep) -> None:
        """Kill, pause, resume or restart the process, or end its session, as the step says.

        What stops at a point of the protocol stops there; a session may be that of a dead broker.
        """
