"""Which tests are chaos tests, with which seeds, and how one is refused."""

from typing import TYPE_CHECKING

import pytest

from fencepost.conformance.testing.options import SEED_ALONE

if TYPE_CHECKING:
    from fencepost.conformance.testing.bundle import RecordedTest
    from fencepost.conformance.testing.marker import ChaosMark

MARKER = "chaos"
FIXTURE = "fencepost_run"
SEED = "fencepost_seed"
SEEDS_MAX = 10_000

REFUSED = pytest.StashKey[str]()


def mark_of(item: pytest.Item) -> "ChaosMark":
    """The markers of a test, its module's and its own; raises `ChoiceError` of this room."""
    from fencepost.conformance.adapters.errors import ChoiceError
    from fencepost.conformance.testing.marker import read_mark

    args, given = _marked(item)
    if (args or given) and FIXTURE not in getattr(item, "fixturenames", ()):
        raise ChoiceError("chaos(...) hurts a cluster; take the fixture cluster, faults or quiet")
    return read_mark(args, given)


def _marked(node: pytest.Item) -> tuple[tuple[object, ...], dict[str, object]]:
    """What all markers of the name say together; the closest one wins."""
    marks = list(node.iter_markers(MARKER))
    given = {name: value for mark in reversed(marks) for name, value in mark.kwargs.items()}
    return tuple(value for mark in marks for value in mark.args), given


def seeds_of(metafunc: pytest.Metafunc, recorded: "RecordedTest | None") -> list[int] | None:
    """The seeds that a test is run with, or None when it is run once and needs no name for it."""
    only: int | None = metafunc.config.getoption(SEED_ALONE)
    if recorded is not None:
        return [recorded.seed] if f"seed-{recorded.seed}" in recorded.test else None
    if only is not None:
        return [only]
    _, given = _marked(metafunc.definition)
    count = given.get("seeds")
    # What is no number of seeds is refused when all tests are collected, in one sentence.
    return list(range(count)) if isinstance(count, int) and 0 < count <= SEEDS_MAX else None


def refuse(item: pytest.Item, sentence: str) -> None:
    """Raise `pytest.UsageError`; a worker of pytest-xdist, which must not, lets the test fail."""
    if not hasattr(item.config, "workerinput"):
        raise pytest.UsageError(sentence)
    item.stash[REFUSED] = sentence


def refused(item: pytest.Item) -> str | None:
    """What a test was refused with."""
    return item.stash.get(REFUSED, None)
