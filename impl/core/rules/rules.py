"""The rules of the protocol by name: what a level changes, and all that may be done in another way.

`Rules` holds functions of values, and tables; brokers and controllers ask `config.rules` and hold
none of them themselves. A level is `replace(rules of the level below, ...)` in `impl/core/levels`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.impl.core.rules.replica import Replica


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Named as the functions that level 0 puts here; each docstring is at the function."""

    # The ISR (ISR-001 to ISR-006)
    shrink_isr: Callable[[Replica, int, int], Replica]
    """Of the replica, now and the lag time in ms; asked at every tick."""
    expand_isr: Callable[[Replica, int, int], Replica]
    """Of the same; asked at every fetch of a follower."""
    lags_at_ms: Callable[[Replica, int], int | None]
