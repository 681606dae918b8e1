"""Faults that somebody else carries out: asked for, seen when done, over when all is well again.

As the injections of `fault_injection/injectors`, none of which waits: `Injector` looks again and
again. What is done at once is a deed, which `deeds.py` has.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from fencepost.impl.sim.engine.recorder import NodeTrace
from fencepost.impl.sim.world.clients import SimulatedClient, SimulatedProducer
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.trace_lines import Line

Heal = Callable[[], Line]
"""Undoes a deed; returns the evidence."""


class Wish(Protocol):
    """One fault on its way from injection to healing."""

    def evidence(self) -> Line | None:
        """What proves that it took effect; None: nothing yet."""

    def heal(self) -> None:
        """It is being undone; called again until it is healed."""

    def healed(self) -> Line | None:
        """What proves that all is well again; None: not yet."""


@dataclass(slots=True, kw_only=True)
class World:
    """What there is beside the brokers: who keeps the run's trace, and who is at work."""

    cluster: VirtualCluster
    harness: NodeTrace
    clients: list[SimulatedClient]
    """All of them are stopped at the end of the run, with those that a fault adds."""
    _names: int = field(init=False, default=0)

    def next_name(self) -> str:
        """For one client more."""
        self._names += 1
        return f"client-more-{self._names}"

    def producers(self) -> list[SimulatedProducer]:
        """Those at work."""
        return [c for c in self.clients if isinstance(c, SimulatedProducer) and not c.is_stopped]
