"""Plays seeds and stories with whatever core stands in the working directory.

`python -m fencepost.ci.bench.mutation.python.play REQUEST`, where REQUEST is JSON: the `seeds`,
with the digest of the usual trace of each, or the `stories`; `reach` asks for the lines of the core
that each of them runs. The answer is a line of JSON. A mutator starts it in a copy of the checkout
in which one rule is wrong, so that a rule without end takes no more than this process.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.simulate import SeedResult, Subject, judge_seed
from fencepost.conformance.whitebox.story_play import play_file
from fencepost.spec.trace import TraceEvent, encode_all
from fencepost.spec.vocabulary import ProtocolLevel

if TYPE_CHECKING:
    from _typeshed import TraceFunction

CORE = "fencepost/impl/core/"
NOTICED = frozenset({Verdict.FAIL, Verdict.ERROR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched(Subject):
    """A subject that remembers its last trace, so that a seed is played once."""

    last: dict[int, list[TraceEvent]] = field(default_factory=dict)

    def simulate(self, seed: int) -> list[TraceEvent]:
        """The trace of a seed."""
        if seed not in self.last:
            self.last.clear()
            self.last[seed] = Subject.simulate(self, seed)
        return self.last[seed]

    def is_usual(self, seed: int, digest: str) -> bool:
        """Whether its trace is the known one: then no check has anything new to see."""
        try:
            return digest_of(self.simulate(seed)) == digest
        except Exception:  # how it fails is told when it is judged
            return False


def digest_of(events: list[TraceEvent]) -> str:
    """What tells a trace from another."""
    return sha256(b"".join(encode_all(events))).hexdigest()[:16]


def main(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    if request.get("reach"):
        return {**reach_of_seeds(request["seeds"]), **reach_of_stories(request["stories"])}
    if "seeds" in request:
        usual = {int(seed): digest for seed, digest in request["seeds"].items()}
        return play_seeds(usual)
    return {"noticed": next(noticed_by_stories(request["stories"]), "")}


def play_seeds(usual: dict[int, str]) -> dict[str, Any]:
    """By what the first seed that notices does so, and how many had another trace until then."""
    subject = Watched(level=max(ProtocolLevel))
    changed = 0
    for seed, digest in usual.items():
        if subject.is_usual(seed, digest):
            continue
        changed += 1
        result = judge_seed(subject, seed)
        if result.verdict in NOTICED:
            return {"noticed": told(result), "error": result.error or "", "changed": changed}
    return {"noticed": "", "error": "", "changed": changed}


def told(result: SeedResult) -> str:
    """What a seed shows."""
    shown = ", ".join(sorted(result.violated)) or result.error or str(result.verdict)
    return f"{shown} in seed {result.seed}"


def noticed_by_stories(paths: list[str]) -> Iterator[str]:
    """The stories that print something else than their files say."""
    for path in paths:
        try:
            if not play_file(Path(path)).holds:
                yield Path(path).stem
        except Exception as error:  # a story may fail in any way when a rule is wrong
            yield f"{type(error).__name__} in {Path(path).stem}"


def reach_of_seeds(seeds: list[int]) -> dict[str, Any]:
    """Of each seed its digest, and the lines that it runs."""
    subject = Watched(level=max(ProtocolLevel))
    digests: dict[str, str] = {}
    lines = {}
    for seed in seeds:
        lines[str(seed)] = reached(partial(subject.simulate, seed))
        digests[str(seed)] = digest_of(subject.simulate(seed))
    return {"digests": digests, "seeds": lines}


def reach_of_stories(paths: list[str]) -> dict[str, Any]:
    """Of each story the lines that it runs."""
    return {"stories": {path: reached(partial(play_file, Path(path))) for path in paths}}


def reached(work: Callable[[], object]) -> dict[str, list[int]]:
    """File of the core -> the lines of it that `work` runs."""
    seen: dict[CodeType, set[int]] = {}
    with _traced(seen):
        work()
    lines: dict[str, set[int]] = {}
    for code, found in seen.items():
        name = code.co_filename[code.co_filename.index(CORE) + len("fencepost/") :]
        lines.setdefault(name, set()).update(found)
    return {name: sorted(found) for name, found in sorted(lines.items())}


@contextmanager
def _traced(seen: dict[CodeType, set[int]]) -> Iterator[None]:
    """Within, each line of the core that runs is put into `seen`."""

    def on_line(frame: FrameType, _event: str, _argument: object) -> "TraceFunction":
        seen[frame.f_code].add(frame.f_lineno)
        return on_line

    def on_call(frame: FrameType, _event: str, _argument: object) -> "TraceFunction | None":
        code = frame.f_code
        if code not in seen:
            if CORE not in code.co_filename:
                return None
            seen[code] = set()
        seen[code].add(frame.f_lineno)
        all_lines = _lines_of(code)
        return None if seen[code] >= all_lines else on_line

    sys.settrace(on_call)
    try:
        yield
    finally:
        sys.settrace(None)


_KNOWN: dict[CodeType, frozenset[int]] = {}


def _lines_of(code: CodeType) -> frozenset[int]:
    if code not in _KNOWN:
        lines = (line for _, _, line in code.co_lines())
        _KNOWN[code] = frozenset(line for line in lines if line is not None)
    return _KNOWN[code]


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
