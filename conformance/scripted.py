"""Scenarios as text files: the simulator of an implementation plays them, the checks judge them.

The language is that of `impl/sim/script`; what stands here is the verb `check`, and the comparison.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from conformance.adapter import UsageError
from conformance.checks.registry import run_checks
from conformance.simulate import REFERENCE_TARGET, load
from spec.trace import TraceEvent

OK = "ok"
VACUOUS = "vacuous: no check had anything to decide"


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


def judge(events: Sequence[TraceEvent]) -> list[str]:
    """The invariants that the trace violates, one a line; else `ok`."""
    results = run_checks(events)
    violated = sorted(result.invariant.value for result in results if result.violations)
    if violated:
        return [f"violated: {name}" for name in violated]
    return [OK if any(result.premise_count for result in results) else VACUOUS]


def play_file(path: Path, *, target: str = REFERENCE_TARGET) -> Scripted:
    """Play a scenario file on a simulator; raises `UsageError` for one that cannot be played."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a scenario file") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text; name a scenario file") from error
    play = getattr(load(target), "play", None)
    if play is None:
        raise UsageError(f"the simulator {target} plays no scenario files: it has no play()")
    try:
        played = play(text, str(path), judge)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return Scripted(path=path, blocks=len(played["blocks"]), before=text, after=played["text"])
