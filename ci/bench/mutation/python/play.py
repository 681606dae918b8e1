"""Plays seeds and stories with whatever core stands in the working directory.

`python -m fencepost.ci.bench.mutation.python.play REQUEST`, where REQUEST is JSON: the `seeds`,
each `SEED@LEVEL` with the digest of its usual trace, or the `stories`; `decisive` asks for rules
that are decisive in each, `digests` for those of the seeds. The answer is a line of JSON. A mutator
starts it in a copy of the checkout in which one rule is wrong, so that a rule without end takes no
more than this process.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from signal import ITIMER_PROF, setitimer
from typing import Any

from fencepost.ci.bench.mutation.python.decisive import probed_core
from fencepost.ci.gate.seeds import GateSeed
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.simulate import SeedResult, Subject, judge_seed
from fencepost.conformance.whitebox.story_play import play_file
from fencepost.spec.trace import TraceEvent, encode_all

CPU_S_PER_RUN = 30
"""A seed or a story that takes longer does not end: the process dies of `SIGPROF`."""
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


def named_digest(name: str) -> tuple[str, str]:
    """A seed that is called `SEED@LEVEL`, and the digest of its trace."""
    level, seed = GateSeed.parse(name)
    return name, digest_of(Subject(level=level).simulate(seed))


def main(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    if "digests" in request:
        return dict(map(named_digest, request["digests"]))
    if request.get("decisive"):
        return decisive_rules(request["seeds"], request["stories"])
    if "seeds" in request:
        return play_seeds(request["seeds"])
    return {"noticed": next(noticed_by_stories(request["stories"]), "")}


@contextmanager
def limited() -> Iterator[None]:
    """What is done here may take so much processor time."""
    setitimer(ITIMER_PROF, CPU_S_PER_RUN)
    try:
        yield
    finally:
        setitimer(ITIMER_PROF, 0)


def play_seeds(usual: dict[str, str]) -> dict[str, Any]:
    """By what the first seed that notices does so, and how many had another trace until then."""
    changed = 0
    for name, digest in usual.items():
        level, seed = GateSeed.parse(name)
        subject = Watched(level=level)
        with limited():
            if subject.is_usual(seed, digest):
                continue
            changed += 1
            result = judge_seed(subject, seed)
        if result.verdict in NOTICED:
            return {"noticed": told(result, name), "error": result.error or "", "changed": changed}
    return {"noticed": "", "error": "", "changed": changed}


def told(result: SeedResult, name: str) -> str:
    """What a seed shows."""
    shown = ", ".join(sorted(result.violated)) or result.error or str(result.verdict)
    return f"{shown} in seed {name}"


def noticed_by_stories(paths: list[str]) -> Iterator[str]:
    """The stories that print something else than their files say."""
    for path in paths:
        try:
            with limited():
                is_as_told = play_file(Path(path)).holds
            if not is_as_told:
                yield Path(path).stem
        except Exception as error:  # a story may fail in any way when a rule is wrong
            yield f"{type(error).__name__} in {Path(path).stem}"


def decisive_rules(seeds: list[str], stories: list[str]) -> dict[str, Any]:
    """Seed or story -> the digest of its trace, if it has one, and the rules decisive in it.

    The trace is that of a probed core, which now and then asks what the core would not ask.
    """
    found: dict[str, Any] = {}
    with probed_core() as decisive_in:
        for name in seeds:
            level, seed = GateSeed.parse(name)
            subject = Watched(level=level)
            decisive = decisive_in(partial(subject.simulate, seed))
            trace = subject.simulate(seed)
            told = {"digest": digest_of(trace), "events": len(trace)}
            found[name] = {**told, "decisive": sorted(decisive)}
        for path in stories:
            decisive = decisive_in(partial(play_file, Path(path)))
            found[path] = {"digest": "", "events": 1, "decisive": sorted(decisive)}
    return found


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
