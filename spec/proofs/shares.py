"""The work on modules in shares, several at a time, each in a process of its own.

What z3 has seen before decides where it looks first. Shares are the same however many processes
there are, and a process has seen nothing before its share: so the answers are the same always.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from multiprocessing import connection
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from fencepost.spec.orphans import end_with_parent
from fencepost.spec.proofs.countermodels import Countermodel, Search
from fencepost.spec.proofs.module import ProofError, ProvedModule
from fencepost.spec.proofs.proof import prove
from fencepost.spec.proofs.solver import Obligation, ProofAnswer

AT_A_TIME = 6
"""Actions, or wrong rules, of one share: each share has to state the invariant first."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Some of the work on a module."""

    module: ProvedModule
    """With those starts, actions and wrong rules alone that are of this share."""
    work: Callable[[ProvedModule], Iterator[Any]]
    """What it finds, one by one."""


def shares_of(module: ProvedModule) -> Iterator[Share]:
    """All that is to be done, in the order in which it is told."""
    yield Share(module=replace(module, actions=()), work=judged)
    for actions in batches(module.actions):
        yield Share(module=replace(module, starts=(), implied=(), actions=actions), work=judged)
    yield Share(module=module, work=never_taken)
    for _, rules in groupby(module.wrong_rules, key=lambda rule: rule.size):
        for some in batches(tuple(rules)):
            yield Share(module=replace(module, wrong_rules=some), work=countermodels)


def batches(things: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """A few at a time."""
    for first in range(0, len(things), AT_A_TIME):
        yield tuple(things[first : first + AT_A_TIME])


def judged(module: ProvedModule) -> Iterator[Obligation]:
    """The obligations; what is not proved is refuted, where a small universe suffices."""
    search: Search | None = None
    for one in prove(module):
        if not one.is_proved:
            search = search or Search(module)
            yield refuted(search, one)
        else:
            yield one


def refuted(search: Search, one: Obligation) -> Obligation:
    """The obligation with a countermodel to it, if there is one."""
    ways = [action for action in search.module.actions if action.way == one.way]
    found = search.against(ways, one.clause)
    is_refuted = found is not None and found.is_confirmed
    return replace(one, answer=ProofAnswer.COUNTERMODEL) if is_refuted else one


def never_taken(module: ProvedModule) -> Iterator[str]:
    """Ways to take an action that no state allows."""
    return Search(module).never_taken()


def countermodels(module: ProvedModule) -> Iterator[Countermodel | None]:
    """To the clause that each wrong rule breaks, all in a universe of the same size."""
    search = Search(module, module.wrong_rules[0].size)
    for rule in module.wrong_rules:
        yield search.against(rule.actions, rule.breaks)


def find_shares(
    shares: Sequence[Share], jobs: int, on_found: Callable[[Any], None]
) -> list[list[Any]]:
    """What each share finds, from so many processes at a time.

    The last are begun first, for searches last longest. Raises `ProofError` when one ends early.
    """
    found: list[list[Any]] = [[] for _ in shares]
    waiting = list(enumerate(shares))
    running: dict[Connection, _Running] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                number, share = waiting.pop()
                started = _started(number, share)
                running[started.receiving] = started
            for receiving in connection.wait(list(running)):
                one = running[receiving]  # type: ignore[index]
                try:
                    found[one.number].append(one.receiving.recv())
                    on_found(found[one.number][-1])
                except EOFError:
                    one.end()
                    del running[one.receiving]
    finally:
        for one in running.values():
            one.kill()
    return found


@dataclass(frozen=True, slots=True)
class _Running:
    number: int
    share: Share
    process: Any
    receiving: Connection

    def end(self) -> None:
        self.process.join()
        self.receiving.close()
        if self.process.exitcode != 0:
            raise ProofError(f"the proof of {self.share.module.name} ended early; run it again")

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.receiving.close()


def _started(number: int, share: Share) -> _Running:
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(share, sending), daemon=True)
    process.start()
    sending.close()
    return _Running(number, share, process, receiving)


def _send(share: Share, sending: Connection) -> None:
    """Send what is found; an interrupt is for the parent, which ends this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    with suppress(BrokenPipeError), sending:
        for one in share.work(share.module):
            sending.send(one)
