"""The port through which the player of steps knows a running cluster, virtual or of processes."""

from collections.abc import Callable, Collection
from typing import Protocol

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.targets import ClusterState
from fencepost.fault_injection.processes.trace_tail import Traces
from fencepost.fault_injection.stories.steps.story_step import (
    AdminStep,
    ConsumeStep,
    CreateTopicStep,
    ExpireStep,
    KillStep,
    PauseStep,
    ProduceStep,
    RestartStep,
    ResumeStep,
    RetryStep,
)
from fencepost.spec.vocabulary import BrokerId

Lines = list[str]
"""What a step prints."""
OperationStep = ProduceStep | RetryStep | ConsumeStep | AdminStep
BrokerStep = KillStep | PauseStep | ResumeStep | RestartStep | ExpireStep


class StoryCluster(Protocol):
    """A running cluster; time passes and faults take their course while a step waits.

    Faults go to the engine, which knows its world by a port of its own (`engine/world.py`).
    """

    @property
    def broker_ids(self) -> Collection[int]:
        """All brokers, dead ones too."""

    @property
    def state(self) -> ClusterState:
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

    def begin(self, step: OperationStep, ended: Callable[[str], None]) -> None:
        """Begin an operation of a client or an administrator; `ended` is told its outcome.

        The outcome is one line, `ok` for an administrator's request that is granted.
        """

    def begin_fault(self, fault_id: str, fault: Fault, after_ms: int) -> None:
        """Inject the fault, now or so much later."""

    def heal_fault(self, fault_id: str) -> bool:
        """Heal the fault of that id; false when there is none to heal."""

    def act_on(self, broker_id: BrokerId, step: BrokerStep) -> None:
        """Kill, pause, resume or restart the process, or end its session, as the step says.

        What stops at a point of the protocol stops there; a session may be that of a dead broker.
        """
