"""Edits that need not be killed, each with the reason, as a person found it."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fencepost.ci.bench.mutation.edit import Edit, one_line

FOLDER = Path(__file__).parent


class ListedEdit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An edit, by its key, and why it is not killed.

    Without `after`, every edit of this kind and text in the operator is meant.
    """

    module: str
    operator: str
    kind: str
    before: str
    after: str | None = None
    reason: str

    def is_of(self, edit: Edit) -> bool:
        """Whether it speaks of that edit."""
        return (
            (self.module, self.operator, self.kind) == (edit.module, edit.operator, edit.kind)
            and one_line(self.before) == one_line(edit.before)
            and (self.after is None or one_line(self.after) == one_line(edit.after))
        )


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    equivalent: list[ListedEdit] = []
    harmless: list[ListedEdit] = []
    survivor: list[ListedEdit] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """What a file says of edits."""

    equivalents: tuple[ListedEdit, ...] = ()
    """They change nothing that can be seen: they are not played, and do not count."""
    harmless: tuple[ListedEdit, ...] = ()
    """What they change is allowed in every schedule: they are played, and one that nothing notices
    does not count. One that a check kills is listed wrongly, and counts as killed."""
    survivors: tuple[ListedEdit, ...] = ()
    """They change something, and it is known why nothing sees it: they count as not killed."""

    def of_equivalent(self, edit: Edit) -> str:
        """Why the edit is equivalent; empty when that is not known."""
        return _reason(edit, self.equivalents)

    def of_harmless(self, edit: Edit) -> str:
        """Why what the edit changes is allowed; empty when that is not known."""
        return _reason(edit, self.harmless)

    def of_survivor(self, edit: Edit) -> str:
        """Why the edit may survive; empty when that is not known."""
        return _reason(edit, self.survivors)

    def of_any(self, edit: Edit) -> str:
        """Why the edit need not be killed; empty when it has to be."""
        return self.of_equivalent(edit) or self.of_harmless(edit) or self.of_survivor(edit)

    def stale(self, edits: Iterable[Edit]) -> tuple[ListedEdit, ...]:
        """Those that speak of none of all edits any more."""
        known = tuple(edits)
        listed = (*self.equivalents, *self.harmless, *self.survivors)
        return tuple(one for one in listed if not any(one.is_of(edit) for edit in known))


NO_REASONS = Reasons()


def read_reasons(path: Path) -> Reasons:
    """All of a file; raises `SystemExit` with one sentence for a file that is not as described."""
    try:
        read = msgspec.convert(tomllib.loads(path.read_text()), _File)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SystemExit(f"{path.name}: {error}") from error
    return Reasons(
        equivalents=tuple(read.equivalent),
        harmless=tuple(read.harmless),
        survivors=tuple(read.survivor),
    )


def _reason(edit: Edit, listed: Iterable[ListedEdit]) -> str:
    return next((one.reason for one in listed if one.is_of(edit)), "")
