"""Reads documents strictly: every complaint says where, what, and what to do, in one sentence."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from fencepost.fault_injection.faults.parameters import most_of
from fencepost.fault_injection.faults.targets import FaultError


class StoryError(FaultError):
    """A schedule file that is not valid; one sentence."""


@dataclass(slots=True)
class Reader:
    """One object of a document; `finish` complains of what nobody asked for."""

    where: str
    given: dict[str, Any]
    _asked: set[str] = field(init=False, default_factory=set)

    @classmethod
    def of(cls, where: str, document: object) -> "Reader":
        """A reader of an object; raises `StoryError` for anything else."""
        if not isinstance(document, Mapping):
            raise StoryError(f"{where}: expected an object with named fields, found {document!r}")
        strange = [key for key in document if not isinstance(key, str)]
        if strange:
            raise StoryError(f"{where}: the name {strange[0]!r} is no text; put it in quotes")
        return cls(where, dict(document))

    def has(self, name: str) -> bool:
        """True when the field is given."""
        return name in self.given

    def number(self, name: str, default: int | None = None, *, at_least: int = 0) -> int:
        """A whole number; raises `StoryError` when it is missing without default, or too small."""
        value = self._take(name, default)
        if type(value) is not int:
            raise self.error(f"{name} is {value!r}; give a whole number")
        if value < at_least:
            raise self.error(f"{name} is {value}; give {at_least} or more")
        if value > (most := most_of("ms" if name.endswith("_ms") else "")):
            raise self.error(f"{name} is larger than any; give {most} or less")
        return value

    def text(self, name: str, default: str | None = None) -> str:
        """A text."""
        value = self._take(name, default)
        if not isinstance(value, str):
            raise self.error(f"{name} is {value!r}; give a text")
        if not _is_text(value):
            raise self.error(f"{name} is {value!r}, which is no Unicode text; write it anew")
        return value

    def choice(self, name: str, default: str | None, choices: tuple[str, ...]) -> str:
        """One of some texts."""
        value = self._take(name, default)
        if value not in choices:
            raise self.error(f"{name} is {value!r}; choose one of {', '.join(choices)}")
        return str(value)

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        value = self._take(name, default)
        if not isinstance(value, bool):
            raise self.error(f"{name} is {value!r}; give true or false")
        return value

    def list_of(self, name: str, kind: type) -> tuple[Any, ...]:
        """A list of texts, numbers or objects; empty when it is not given."""
        value = self._take(name, [])
        if not isinstance(value, list):
            raise self.error(f"{name} is {value!r}; give a list")
        wrong = [one for one in value if type(one) is not kind]
        if wrong:
            nouns = {int: "whole numbers", str: "texts", dict: "objects"}
            raise self.error(f"{name} holds {wrong[0]!r}; give a list of {nouns[kind]}")
        return tuple(value)

    def inner(self, name: str) -> "Reader":
        """The object in a field; empty when it is not given."""
        value = self._take(name, {})
        return Reader.of(f"{self.where}: {name}", value)

    def knows(self, *names: str) -> None:
        """Fields of these names may be given; whoever needs them looks into `given`."""
        self._asked.update(names)

    def finish(self) -> None:
        """Raise `StoryError` for a field that does not exist."""
        unknown = sorted(set(self.given) - self._asked)
        if unknown:
            known = ", ".join(sorted(self._asked))
            raise self.error(f"there is no field {unknown[0]!r}; choose among {known}")

    def error(self, says: str) -> StoryError:
        """A complaint with its place."""
        return StoryError(f"{self.where}: {says}")

    def _take(self, name: str, default: object) -> Any:  # noqa: ANN401
        self._asked.add(name)
        if name in self.given:
            return self.given[name]
        if default is None:
            raise self.error(f"the field {name} is missing; add it")
        return default


def instead(wrong: str, known: Iterable[str], else_say: str) -> str:
    """What to write instead of a wrong name, as the end of a sentence."""
    folded = {name.casefold(): name for name in known}
    near = [folded[one] for one in get_close_matches(wrong.casefold(), folded)]
    return f"did you mean {' or '.join(near)}?" if near else else_say


def _is_text(value: str) -> bool:
    """False for half a surrogate pair, which no file can hold."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
