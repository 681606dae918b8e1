"""Something that is done to a broker again and again, between two looks of the engine.

One thread of its own does it, since the engine looks too seldom for that.
"""

import threading
from collections.abc import Callable

from fencepost.fault_injection.injectors.injector import InjectionError

JOIN_S = 10.0
"""The thread ends after one more turn."""


class Repetition:
    """From `start` to `stop` the action is done, at once and then every `every_ms`."""

    def __init__(self, action: Callable[[], object], every_ms: int) -> None:
        """`action` may raise `InjectionError`, which ends it."""
        self._action = action
        self._every_s = every_ms / 1000
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="beat", daemon=True)
        self.times = 0
        """How often it was done."""
        self.error = ""
        """Why it could not be done any more."""

    def start(self) -> None:
        """It was done once; raises `InjectionError`."""
        self._action()
        self.times = 1
        self._thread.start()

    def stop(self) -> None:
        """It is not done any more."""
        self._is_over.set()
        if self._thread.ident is not None:
            self._thread.join(JOIN_S)

    def _go_on(self) -> None:
        try:
            while not self._is_over.wait(self._every_s):
                self._action()
                self.times += 1
        except InjectionError as error:
            self.error = str(error)
