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
    ProduceStep,
    RetryStep,
    StopStep,
)
from fencepost.spec.vocabulary import BrokerId

Lines = list[str]
"""What a step prints."""
OperationStep = ProduceStep | RetryStep | ConsumeStep | AdminStep


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

    def later(self, after_ms: int, act: Callable[[], None]) -> None:
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

    def kill(self, broker_id: BrokerId, when: StopStep) -> None:
        """The process dies, now or at the point that the step names."""

    def pause(self, broker_id: BrokerId, when: StopStep) -> None:
        """The process stands still, from now or from that point on."""

    def resume(self, broker_id: BrokerId) -> None:
        """The process goes on."""

    def restart(self, broker_id: BrokerId) -> None:
        """The broker starts anew on its disk; it dies first if it lives."""

    def expire(self, broker_id: BrokerId) -> None:
        """ZooKeeper ends the session of the broker, which may be dead."""
