"""Crash points: the process kills or stops itself at a named effect (fault `proc.crash_at`).

Before any effect, and after a disk effect, it dies at once. After an effect that sends a message it
stops stepping but lives until its answers are written, and `LEAVES_S` longer, so that the message
leaves. Stopping (SIGSTOP) is not offered there: the message would leave only after SIGCONT.
"""

import os
import signal
import sys

from fencepost.impl.core.types.effects import Effect
from fencepost.impl.crash_points import MESSAGES, CrashPlan
from fencepost.spec.vocabulary import CRASH_POINTS, HOLD_POINTS

ANSWERS_LEAVE_S = 5.0
"""The bound of the wait until answers are written to their connections."""
LEAVES_S = 0.05
"""Time that another message gets to leave before the process dies: nothing tells when it has."""


class CrashPointReached(BaseException):
    """A crash point after a message: end the step, and the process after `LEAVES_S`."""


class CrashPoints:
    """The planned crash or stop of one process, if any."""

    def __init__(self, name: str) -> None:
        """`name` is the prefix of the messages on stderr."""
        self._name = name
        self._plan: CrashPlan | None = None

    @property
    def is_planned(self) -> bool:
        """True while a crash or stop is planned."""
        return self._plan is not None

    def plan(self, point: str, nth: int, *, holds: bool = False) -> str:
        """Crash, or stop if `holds`, at the `nth` passage of `point` from now; "" cancels the plan.

        Returns an error message, or "".
        """
        if not point:
            self._plan = None
            return ""
        if point not in CRASH_POINTS:
            return f"{point!r} is no crash point; choose one of {', '.join(CRASH_POINTS)}"
        if nth < 1:
            return f"nth is {nth}; give 1 or more"
        if holds and point not in HOLD_POINTS:
            return f"a process cannot stop {point}; choose one of {', '.join(HOLD_POINTS)}"
        self._plan = CrashPlan(point, nth, holds)
        return ""

    def pass_by(self, when: str, effect: Effect) -> None:
        """Crash if the plan says so; raises `CrashPointReached` or never returns."""
        if self._plan is None or not self._plan.strikes(when, effect):
            return
        if self._plan.holds:
            self._stand()
            return
        if when == "after" and isinstance(effect, MESSAGES):
            raise CrashPointReached
        self.die()

    def _stand(self) -> None:
        """Stop the process until it gets SIGCONT."""
        assert self._plan is not None
        sys.stderr.write(f"{self._name}: stands still {self._plan.point}, as planned\n")
        sys.stderr.flush()
        self._plan = None
        os.kill(os.getpid(), signal.SIGSTOP)

    def die(self) -> None:
        """Kill the own process with SIGKILL."""
        if self._plan is not None:
            sys.stderr.write(f"{self._name}: dies {self._plan.point}, as planned\n")
            sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
