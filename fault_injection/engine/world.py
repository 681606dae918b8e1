"""The port through which the engine knows the world in which it does faults."""

from typing import Protocol

from fencepost.fault_injection.engine.progress import RunningFault
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.fault_injection.faults.targets import ClusterView
from fencepost.fault_injection.injectors.injector import Evidence, Injector
from fencepost.fault_injection.processes.trace_tail import Traces
from fencepost.fault_injection.stories.story import StoryAction


class FaultWorld(Protocol[Evidence]):
    """A clock, a cluster to act on, its traces, and where phases are recorded."""

    @property
    def backend(self) -> Backend:
        """Which faults can be done here."""

    @property
    def trouble(self) -> tuple[type[Exception], ...]:
        """What a step of an injector may raise; everything else is a defect and ends the run."""

    @property
    def traces(self) -> Traces:
        """What the nodes write; the phases of faults are not told again."""

    @property
    def look_ms(self) -> int:
        """Between two looks at a fault that is to be seen or healed."""

    @property
    def is_seen_at_once(self) -> bool:
        """True when most faults count as active at their injection.

        The simulator takes a rule for active before it matches; on processes the first match
        proves it. So a fault lasts from its proof there, and from its injection on processes.
        """

    @property
    def is_undone_at_once(self) -> bool:
        """True when undoing cannot fail, and a refused injection has changed nothing.

        On processes a fault that nothing was seen of is healed as any other, which takes a while.
        """

    def now_ns(self) -> int:
        """Nanoseconds since any moment."""

    def view(self) -> ClusterView:
        """The controller, leaders and replicas now."""

    def is_there(self, broker_id: int | None) -> bool:
        """True when a fault may be injected at the broker; one that is away is waited for.

        The simulator waits for none: a drawn fault on a dead broker is one without effect.
        """

    def injector(self, running: RunningFault[Evidence]) -> Injector[Evidence]:
        """The injector of a resolved fault; how to undo it is written down before it is done."""

    def close(self, running: RunningFault[Evidence]) -> None:
        """The fault is undone."""

    def margin_ms(self, action: StoryAction) -> int:
        """How long evidence is waited for when the fault's own time is over.

        On processes not for what depends on luck; in virtual time waiting costs nothing.
        """

    def is_credited(self, running: RunningFault[Evidence], proof: Evidence | None) -> bool:
        """True when the healed fault counts as one that took effect.

        On processes it was seen before and ended in time; a simulated injector tells at the end
        whether the fault met anything.
        """

    def record(self, running: RunningFault[Evidence], proof: Evidence | None, why: str) -> None:
        """The fault has come to its phase, proved by `proof`; `why` says what went wrong."""
