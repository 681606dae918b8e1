"""Delayed signals, for calls that take what a signal handler raises for their own error."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import current_thread, main_thread
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals with handlers that raise, so that everything is wound up."""


@contextmanager
def handlers_wait() -> Iterator[None]:
    """Run the handlers of `ENDING` after the body; in other threads no handler ever runs."""
    if current_thread() is not main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    handlers = {number: signal.getsignal(number) for number in ENDING}
    with ExitStack() as stack:
        for number, handler in handlers.items():
            if callable(handler):
                stack.callback(signal.signal, number, handler)
                signal.signal(number, lambda *signalled: came.append(signalled))
        yield
    for which, frame in came:
        handler = handlers[signal.Signals(which)]
        assert callable(handler)
        handler(which, frame)
