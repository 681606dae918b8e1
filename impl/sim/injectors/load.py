"""What clients do in the simulated world: more of them than usual, and one that ends in the middle.

As `fault_injection/injectors/load.py`.
"""

from dataclasses import dataclass, field

from fencepost.fault_injection.faults.load_faults import BurstLoad
from fencepost.impl.sim.injectors.awaited import Heal, Wish, World
from fencepost.impl.sim.world.clients import SimulatedProducer
from fencepost.impl.trace_lines import Line

AT_ONCE = (0, 0)
"""Milliseconds between two requests of one producer."""


def more_producers(fault: BurstLoad, world: World) -> Heal | None:
    """They are at work until they are told to end; None when nobody is at work."""
    at_work = world.producers()
    if not at_work:
        return None
    burst = [
        SimulatedProducer(world.cluster, world.next_name(), at_work[0].keys)
        for _ in range(fault.producers)
    ]
    world.clients += burst
    for producer in burst:
        producer.think_ms = AT_ONCE
        producer.produce()

    def heal() -> Line:
        for producer in burst:
            producer.is_stopped = True
        return {"matched": sum(producer.acknowledged for producer in burst)}

    return heal


def end_of_producer(world: World) -> Wish | None:
    """The next answer is the end of one of those at work; None when there is nobody."""
    at_work = world.producers()
    return _End(world, at_work[0]) if at_work else None


@dataclass(slots=True)
class _End:
    """`client.crash`."""

    world: World
    producer: SimulatedProducer
    heir: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self.producer.crash(self._go_on)

    def evidence(self) -> Line | None:
        """It has ended, and another one goes on."""
        return {"client": self.producer.name, "heir": self.heir} if self.heir else None

    def heal(self) -> None:
        """Who has not ended is spared; else another one goes on."""
        self.producer.spare()

    def healed(self) -> Line | None:
        """Another one goes on."""
        return self.evidence()

    def _go_on(self) -> None:
        heir = SimulatedProducer(self.world.cluster, self.world.next_name(), self.producer.keys)
        self.heir = heir.name
        self.world.clients.append(heir)
        heir.later(heir.produce)
