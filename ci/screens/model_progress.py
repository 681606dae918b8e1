"""How far the check of many models is: those done, the speed, and the one that takes longest."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from fencepost.ci.screens.console import progress
from fencepost.spec.tlc.models import Model
from fencepost.spec.tlc.runner import Progress


@contextmanager
def model_progress(models: Sequence[Model]) -> Iterator[Callable[[Progress], None]]:
    """As `progress`, in models; yields the function to call with each news of a run of TLC."""
    with progress("spec") as advance:
        board = ModelProgress(len(models), time.monotonic)

        def step(news: Progress) -> None:
            with board.lock:
                board.hear(news)
                advance(board.done, board.total, board.text())

        advance(0, len(models), "")
        yield step


class ModelProgress:
    """What is known of the runs; `clock` tells seconds."""

    def __init__(self, total: int, clock: Callable[[], float]) -> None:
        self.total = total
        self.done = 0
        self.lock = Lock()
        self._clock = clock
        self._began = clock()
        self._running: dict[str, float] = {}
        self._generated: dict[str, int] = {}

    def hear(self, news: Progress) -> None:
        """Take in one piece of news; a verdict that was known before says nothing of the speed."""
        self._running.setdefault(news.model, self._clock())
        if not news.is_cached:
            self._generated[news.model] = news.generated
        if news.is_done:
            del self._running[news.model]
            self.done += 1

    def text(self) -> str:
        """States per second over all runs so far, and the model that has been running longest."""
        elapsed = self._clock() - self._began
        speed = sum(self._generated.values()) / elapsed if elapsed > 0 else 0.0
        told = f"{speed:,.0f} states/s"
        if not self._running:
            return told
        longest = min(self._running, key=lambda name: self._running[name])
        return f"{told}, {longest} {self._clock() - self._running[longest]:.0f} s"
