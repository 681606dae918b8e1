"""A process that kills or stops itself at a named point of its work, as `proc.crash_at` asks.

Before an effect it dies at once, and so after one that concerns the disk. After an effect that
sends something it does nothing more of its own, but lives a moment longer, so that what it had
sent can leave. To stand still there is not offered after what sends something: it would leave only
when the process goes on.
"""

import os
import signal
import sys

from fencepost.impl.core.types.effects import Effect
from fencepost.impl.crash_points import MESSAGES, CrashPlan
from fencepost.spec.vocabulary import CRASH_POINTS, HOLD_POINTS

LEAVES_S = 0.05
"""How long a message may take to leave a process that does nothing else."""


class CrashPointReached(BaseException):
    """The step ends here, and so does the process, when what was sent has left."""


class CrashPoints:
    """The death that is planned, or the stop, if any."""

    def __init__(self, name: str) -> None:
        """`name` is what the process calls itself on stderr."""
        self._name = name
        self._plan: CrashPlan | None = None

    @property
    def is_planned(self) -> bool:
        """True when each step may be the last."""
        return self._plan is not None

    def plan(self, point: str, nth: int, *, holds: bool = False) -> str:
        """The process dies or stops at that passage, counted from now; what is wrong, or "".

        Without a point it is spared.
        """
        if not point:
            self._plan = None
            return ""
        if point not in CRASH_POINTS:
            return f"{point!r} is no crash point; choose one of {', '.join(CRASH_POINTS)}"
        if nth < 1:
            return f"nth is {nth}; give 1 or more"
        if holds and point not in HOLD_POINTS:
            return f"nothing stands still {point}; choose one of {', '.join(HOLD_POINTS)}"
        self._plan = CrashPlan(point, nth, holds)
        return ""

    def pass_by(self, when: str, effect: Effect) -> None:
        """The process is before or after `effect`; raises `CrashPointReached` or never returns."""
        if self._plan is None or not self._plan.strikes(when, effect):
            return
        if self._plan.holds:
            self._stand()
            return
        if when == "after" and isinstance(effect, MESSAGES):
            raise CrashPointReached
        self.die()

    def _stand(self) -> None:
        """Nothing of the process moves until it gets SIGCONT."""
        assert self._plan is not None
        sys.stderr.write(f"{self._name}: stands still {self._plan.point}, as it was told\n")
        sys.stderr.flush()
        self._plan = None
        os.kill(os.getpid(), signal.SIGSTOP)

    def die(self) -> None:
        """The process is gone, as by a kill from outside."""
        if self._plan is not None:
            sys.stderr.write(f"{self._name}: dies {self._plan.point}, as it was told\n")
            sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
