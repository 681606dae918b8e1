"""Faults on the clock of one broker.

Brokers take from their clocks how much time has passed, and nothing else: a clock that is off by so
much from the start is as good as one that is right, and one that comes to be off has jumped. So
there is no `clock.offset` beside `clock.jump`. No clock goes back: a monotonic one never does.
"""

from typing import Annotated

from fencepost.fault_injection.faults.fault import BrokerFault, LastingBrokerFault
from fencepost.fault_injection.faults.fault_kind import fault_kind
from fencepost.fault_injection.faults.parameters import milliseconds, number
from fencepost.spec.vocabulary import EnvironmentAction

TRUE_RATE = 1_000
"""Of a clock, in thousandths."""


@fault_kind(
    injector="clocks:ClockInjector",
    evidence="how far the clock that the broker reports is ahead",
    undo="the clock runs at its true rate, and keeps what it gained",
    requirements=("ISR-001", "ISR-005"),
    spec_actions=(EnvironmentAction.STEP_CLOCK,),
)
class DriftClock(LastingBrokerFault, frozen=True, kw_only=True, tag="clock.drift"):
    """The broker's clock runs too fast or too slow, and keeps what it gained or lost."""

    rate: Annotated[
        int,
        number(
            "how fast it runs: 0 stands still, 2000 is twice as fast",
            unit="thousandths of the true rate",
            ge=0,
        ),
    ]


@fault_kind(
    injector="clocks:ClockInjector",
    evidence="how far the clock that the broker reports is ahead",
    undo="nothing: the clock stays ahead",
    requirements=("ISR-001", "ISR-005"),
    spec_actions=(EnvironmentAction.STEP_CLOCK,),
)
class JumpClock(BrokerFault, frozen=True, kw_only=True, tag="clock.jump"):
    """The broker's clock jumps forward, as after a suspended virtual machine; never back."""

    by_ms: Annotated[int, milliseconds("how far it jumps", ge=1)]


@fault_kind(
    injector="clocks:ClockStrobeInjector",
    evidence="how often the clock jumped, and how far the one that the broker reports is ahead",
    undo="it jumps no more, and stays ahead",
    requirements=("ISR-001", "ISR-005"),
    spec_actions=(EnvironmentAction.STEP_CLOCK,),
)
class StrobeClock(LastingBrokerFault, frozen=True, kw_only=True, tag="clock.strobe"):
    """The broker's clock jumps forward again and again, as when it is corrected all the time."""

    by_ms: Annotated[int, milliseconds("how far it jumps each time", ge=1)]
    every_ms: Annotated[int, milliseconds("the time between two jumps", ge=20, le=60_000)]
