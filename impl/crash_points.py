"""Where a process dies: at the n-th passage of a named point between two effects.

The simulator and the shell count in the same way, and each ends the process in its own.
"""

from dataclasses import dataclass
from typing import get_args

from fencepost.impl.core.types.effects import (
    AppendRecords,
    CheckpointHighWatermark,
    Effect,
    RefusalTold,
    Reply,
    ReplyRecords,
    Send,
    TruncateRecords,
    WriteZnodes,
)

_ALL = tuple(one for one in get_args(Effect) if one is not RefusalTold)
"""A refusal does nothing."""

_EFFECTS: dict[str, tuple[type, ...]] = {
    "append": (AppendRecords,),
    "checkpoint": (CheckpointHighWatermark,),
    "reply": (Reply, ReplyRecords),
    "send": (Send,),
    "truncate": (TruncateRecords,),
    "write": (WriteZnodes,),
    "effect": _ALL,
}

MESSAGES = (Send, Reply, ReplyRecords, WriteZnodes)
"""What leaves the process a moment after its effect was performed."""


@dataclass(slots=True)
class CrashPlan:
    """One death or stop to come; `point` is of `CRASH_POINTS`, or `before_effect` for any."""

    point: str
    left: int
    """At this passage, counted from 1."""
    holds: bool = False
    """True when the process is to stand still there, and not to die."""

    def strikes(self, when: str, effect: Effect) -> bool:
        """True when it is here; counts the passage. `when` is before or after."""
        planned, _, what = self.point.partition("_")
        if planned != when or not isinstance(effect, _EFFECTS[what]):
            return False
        self.left -= 1
        return self.left == 0
