"""Story files with steps: the simulator plays them, the checks judge, the output is compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.checks.registry import judge
from fencepost.conformance.whitebox.simulate import REFERENCE_TARGET, load


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedFile:
    """What a story file prints now, beside what it says that it prints."""

    path: Path
    steps: int
    before: str
    after: str
    played: Sequence[Mapping[str, Any]] = ()
    """Of each step its `run`, what it `printed`, and if it was looked at the state `seen`."""

    @property
    def holds(self) -> bool:
        """True when it prints what it says."""
        return self.before == self.after

    @property
    def difference(self) -> tuple[str, ...]:
        """What is different, as `diff -u` shows it."""
        return tuple(
            unified_diff(
                self.before.splitlines(),
                self.after.splitlines(),
                f"{self.path} says",
                f"{self.path} prints",
                lineterm="",
            )
        )


def play_file(
    path: Path, *, target: str = REFERENCE_TARGET, is_looked_at: bool = False
) -> PlayedFile:
    """Play a story file on a simulator; raises `ChoiceError` for one that cannot be played."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ChoiceError(f"{path}: {error.strerror}; name a story file") from error
    except UnicodeDecodeError as error:
        raise ChoiceError(f"{path} is no text; name a story file") from error
    play = getattr(load(target), "play", None)
    if play is None:
        raise ChoiceError(f"the simulator {target} plays no story files: it has no play()")
    try:
        played = play(text, judge, **({"is_looked_at": True} if is_looked_at else {}))
    except ValueError as error:
        raise ChoiceError(f"{path}: {error}") from error
    steps = played["steps"]
    return PlayedFile(path=path, steps=len(steps), before=text, after=played["text"], played=steps)
