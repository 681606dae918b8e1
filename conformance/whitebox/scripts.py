"""Scripts: the simulator of an implementation plays them, the checks judge them.

The language is that of `impl/sim/script`; what stands here is the verb `check`, and the comparison.
"""

from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.checks.registry import judge
from fencepost.conformance.whitebox.simulate import REFERENCE_TARGET, load


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """What a scenario file prints now, beside what it says that it prints."""

    path: Path
    blocks: int
    before: str
    after: str

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


def play_file(path: Path, *, target: str = REFERENCE_TARGET) -> Scripted:
    """Play a scenario file on a simulator; raises `ChoiceError` for one that cannot be played."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ChoiceError(f"{path}: {error.strerror}; name a scenario file") from error
    except UnicodeDecodeError as error:
        raise ChoiceError(f"{path} is no text; name a scenario file") from error
    play = getattr(load(target), "play", None)
    if play is None:
        raise ChoiceError(f"the simulator {target} plays no scenario files: it has no play()")
    try:
        played = play(text, str(path), judge)
    except ValueError as error:
        raise ChoiceError(str(error)) from error
    return Scripted(path=path, blocks=len(played["blocks"]), before=text, after=played["text"])
