"""Clients of the simulated world: more than usual, and one that ends before its answer."""

from fencepost.fault_injection.faults.load_faults import BurstLoad, CrashClient
from fencepost.impl.sim.injectors.injector import (
    InstantInjector,
    SimulatedInjector,
    nothing_to_act_on,
)
from fencepost.impl.sim.world.clients import SimulatedProducer
from fencepost.impl.trace_lines import Line

AT_ONCE = (0, 0)
"""Milliseconds between two requests of one producer."""


class SimulatedBurst(InstantInjector[BurstLoad]):
    """`load.burst`."""

    _burst: list[SimulatedProducer]

    def inject(self) -> None:
        """Start more producers."""
        world = self.world
        at_work = world.producers()
        if not at_work:
            raise nothing_to_act_on()
        self._burst = [
            SimulatedProducer(world.cluster, world.next_name(), at_work[0].keys, think_ms=AT_ONCE)
            for _ in range(self.fault.producers)
        ]
        world.clients += self._burst
        for producer in self._burst:
            producer.go_on()

    def undo(self) -> Line:
        """Stop the producers; how many of their requests were acknowledged."""
        for producer in self._burst:
            producer.is_stopped = True
        return {"matched": sum(producer.acknowledged for producer in self._burst)}


class SimulatedClientCrash(SimulatedInjector[CrashClient]):
    """`client.crash`: a producer ends at its next answer, and another one takes its place."""

    _producer: SimulatedProducer
    _heir = ""

    def inject(self) -> None:
        """Let a producer end at its next answer."""
        at_work = self.world.producers()
        if not at_work:
            raise nothing_to_act_on()
        self._producer = at_work[0]
        self._producer.on_crash = self._replace

    def evidence(self) -> Line | None:
        """The producer has ended, and another one works."""
        return {"client": self._producer.name, "heir": self._heir} if self._heir else None

    def heal(self) -> None:
        """Spare a producer that has not ended yet."""
        self._producer.on_crash = None

    def healed(self) -> Line | None:
        """Another producer works."""
        return self.evidence()

    def _replace(self) -> None:
        heir = SimulatedProducer(self.world.cluster, self.world.next_name(), self._producer.keys)
        self._heir = heir.name
        self.world.clients.append(heir)
        heir.go_on_later()
