"""The common part of all injectors of the simulated world.

They follow the `Injector` of `fault_injection`; their evidence is the fields of a trace line, and
`matched: 0` says that a fault had no effect.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.injectors.injection import ignore_broker
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.impl.sim.world.clients import SimulatedClient, SimulatedProducer
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.process import Process
from fencepost.impl.trace_lines import Line

AnyFault = TypeVar("AnyFault", bound=Fault)


@dataclass(slots=True, kw_only=True)
class FaultedWorld:
    """The cluster that faults act on, and its clients."""

    cluster: VirtualCluster
    clients: list[SimulatedClient]
    """All of them are stopped at the end of the run, with those that a fault adds."""
    _names: int = field(init=False, default=0)

    def next_name(self) -> str:
        """The name of one client more."""
        self._names += 1
        return f"client-more-{self._names}"

    def producers(self) -> list[SimulatedProducer]:
        """The producers that work now."""
        return [c for c in self.clients if isinstance(c, SimulatedProducer) and not c.is_stopped]


class SimulatedInjector(ABC, Generic[AnyFault]):
    """One fault on its way from injection to healing."""

    on_broker: Callable[[int], None] = staticmethod(ignore_broker)
    """As that of `ResolvedFault`."""

    def __init__(self, fault: AnyFault, world: FaultedWorld, process: Process | None) -> None:
        """`process` is that of the one broker that the fault acts on."""
        self.fault = fault
        self.world = world
        self.cluster = world.cluster
        self._process = process

    @property
    def process(self) -> Process:
        """The process of the one broker that the fault acts on."""
        assert self._process is not None, f"{self.fault.kind} acts on no single broker"
        return self._process

    @abstractmethod
    def inject(self) -> None:
        """Do the fault; raises `InjectionError` when there is nothing to act on."""

    def evidence(self) -> Line | None:
        """What proves that it took effect; None: nothing yet."""
        return {}

    @abstractmethod
    def heal(self) -> None:
        """Undo the fault; called again until it is healed."""

    @abstractmethod
    def healed(self) -> Line | None:
        """What proves that all is well again; None: not yet."""


class InstantInjector(SimulatedInjector[AnyFault]):
    """A fault that is done and undone at once; undoing it tells the evidence."""

    _undone: Line | None = None

    @abstractmethod
    def undo(self) -> Line:
        """Undo the fault; the evidence."""

    def heal(self) -> None:
        """Undo the fault, once."""
        if self._undone is None:
            self._undone = self.undo()

    def healed(self) -> Line | None:
        """The evidence, at once."""
        return self._undone


def nothing_to_act_on() -> InjectionError:
    """The fault finds nothing that it could change."""
    return InjectionError("nothing to act on")
