"""Faults on the clock of one broker.

Brokers take from their clocks how much time has passed, and nothing else: a clock that is off by so
much from the start is as good as one that is right, and one that comes to be off has jumped. So
there is no `clock.offset` beside `clock.jump`. No clock goes back: a monotonic one never does.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fencepost.fault_injection.faults.fault import BrokerFault, LastingBrokerFault
from fencepost.fault_injection.faults.fault_kind import FaultKind
from fencepost.fault_injection.faults.parameters import Parameter
from fencepost.spec.vocabulary import EnvironmentAction

TRUE_RATE = 1_000
"""Of a clock, in thousandths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftClock(LastingBrokerFault):
    """The broker's clock runs too fast or too slow, and keeps what it gained or lost."""

    kind: ClassVar[str] = "clock.drift"
    rate: Annotated[
        int,
        Parameter(
            "how fast it runs: 0 stands still, 2000 is twice as fast",
            unit="thousandths of the true rate",
            at_least=0,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class JumpClock(BrokerFault):
    """The broker's clock jumps forward, as after a suspended virtual machine; never back."""

    kind: ClassVar[str] = "clock.jump"
    by_ms: Annotated[int, Parameter("how far it jumps", unit="ms", at_least=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class StrobeClock(LastingBrokerFault):
    """The broker's clock jumps forward again and again, as when it is corrected all the time."""

    kind: ClassVar[str] = "clock.strobe"
    by_ms: Annotated[int, Parameter("how far it jumps each time", unit="ms", at_least=1)]
    every_ms: Annotated[
        int, Parameter("the time between two jumps", unit="ms", at_least=20, at_most=60_000)
    ]


KINDS = (
    FaultKind(
        fault_class=DriftClock,
        injector="clocks:Clock",
        missing={},
        evidence="how far the clock that the broker reports is ahead",
        undo="the clock runs at its true rate, and keeps what it gained",
        requirements=("ISR-001", "ISR-005"),
        spec_actions=(EnvironmentAction.STEP_CLOCK,),
    ),
    FaultKind(
        fault_class=JumpClock,
        injector="clocks:Clock",
        missing={},
        evidence="how far the clock that the broker reports is ahead",
        undo="nothing: the clock stays ahead",
        requirements=("ISR-001", "ISR-005"),
        spec_actions=(EnvironmentAction.STEP_CLOCK,),
    ),
    FaultKind(
        fault_class=StrobeClock,
        injector="clocks:Strobe",
        missing={},
        evidence="how often the clock jumped, and how far the one that the broker reports is ahead",
        undo="it jumps no more, and stays ahead",
        requirements=("ISR-001", "ISR-005"),
        spec_actions=(EnvironmentAction.STEP_CLOCK,),
    ),
)
