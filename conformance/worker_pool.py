"""A function over many arguments, in several processes, with results in the order of arguments.

Workers are spawned, not forked, so that threads of the caller do no harm, and they end when their
parent does, however it ends.
"""

import os
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import connection, get_context, parent_process
from typing import Protocol, TypeVar

A = TypeVar("A")
R = TypeVar("R")

EXIT_ORPHANED = 3


class Spread(Protocol):
    """A way to apply a function to many arguments; the results come in the order of arguments."""

    def __call__(
        self, function: Callable[[A], R], arguments: Sequence[A], *, jobs: int, chunk: int
    ) -> Generator[R, None, None]:
        """See `in_order`."""


def in_order(
    function: Callable[[A], R], arguments: Sequence[A], *, jobs: int, chunk: int
) -> Generator[R, None, None]:
    """`function` of each argument, in order; close the iterator to stop early.

    With one job, or one chunk of work, everything happens in this process. Function, arguments and
    results must be picklable.
    """
    if jobs <= 1 or len(arguments) <= chunk:
        yield from map(function, arguments)
        return
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_follow_parent)
    try:
        yield from pool.map(function, arguments, chunksize=chunk)
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """End this process as soon as the one that spawned it has ended."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(EXIT_ORPHANED)

    threading.Thread(target=watch, daemon=True).start()
