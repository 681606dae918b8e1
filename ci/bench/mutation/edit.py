"""One change of one place of a text, the key by which it is known, and samples of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from hashlib import sha256
from typing import TypeVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change: in `module`, within `operator`, `before` becomes `after`.

    Module, operator, kind and the text edited are its key, which stays when lines move; where an
    operator has the same text twice, `number` tells them apart.
    """

    module: str
    """Of the specs a module's name, of Python a path from the root of the checkout."""
    operator: str
    """A definition of TLA+, or a class and function of Python."""
    kind: str
    start: int
    before: str
    after: str
    line: int
    number: int = 1

    @property
    def key(self) -> str:
        """What it is called in lists and results."""
        number = f" ({self.number})" if self.number > 1 else ""
        return f"{self.module} {self.operator} {self.kind}{number}: {one_line(self.before)}"

    @property
    def told(self) -> str:
        """What it does, in one line."""
        after = one_line(self.after) or "nothing"
        return f"{one_line(self.before)}  ->  {after}"

    def applied_to(self, text: str) -> str:
        """The text with the change; raises `ValueError` when it is not the text that was read."""
        end = self.start + len(self.before)
        if text[self.start : end] != self.before:
            raise ValueError(f"{self.module} is not the text in which this was found: {self.key}")
        return text[: self.start] + self.after + text[end:]

    def diff(self, text: str, path: str) -> str:
        """The change as `diff -u` shows it."""
        before, after = text.splitlines(), self.applied_to(text).splitlines()
        return "\n".join(unified_diff(before, after, path, path, n=2, lineterm=""))


AnyEdit = TypeVar("AnyEdit", bound=Edit)


def one_line(text: str) -> str:
    """With single spaces in place of layout."""
    return " ".join(text.split())


def numbered(edits: Iterable[AnyEdit]) -> tuple[AnyEdit, ...]:
    """The same, each with its place among those with its key."""
    seen: Counter[str] = Counter()
    told: list[AnyEdit] = []
    for edit in edits:
        key = replace(edit, number=1).key
        seen[key] += 1
        told.append(replace(edit, number=seen[key]))
    return tuple(told)


def sample(edits: Sequence[AnyEdit], count: int, seed: int, each: int = 0) -> tuple[AnyEdit, ...]:
    """So many of them by chance, all where there are no more, in the order of their lots.

    Each edit has its own lot, drawn from seed and key: where the texts change elsewhere, the sample
    stays nearly the same, and what is judged before a run is stopped is a sample as well. `each` is
    how many of every module there are at least, as far as the module has them and `count` allows.
    """
    drawn = sorted(edits, key=lambda edit: _lot(edit, seed))
    seen: Counter[str] = Counter()
    ranks: list[tuple[bool, int]] = []
    for place, edit in enumerate(drawn):
        seen[edit.module] += 1
        ranks.append((seen[edit.module] > each, place))
    chosen = sorted(place for _, place in sorted(ranks)[:count])
    return tuple(drawn[place] for place in chosen)


def _lot(edit: Edit, seed: int) -> bytes:
    return sha256(f"{seed} {edit.key} {one_line(edit.after)}".encode()).digest()
