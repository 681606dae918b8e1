"""A function over many arguments, in several processes, with results in the order of arguments.

Workers are spawned, not forked, so that threads of the caller do no harm, and they end when their
parent does, however it ends.
"""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Protocol, TypeVar

from fencepost.spec.orphans import end_with_parent

A = TypeVar("A")
R = TypeVar("R")


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
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=end_with_parent)
    try:
        yield from pool.map(function, arguments, chunksize=chunk)
    finally:
        pool.shutdown(cancel_futures=True)
