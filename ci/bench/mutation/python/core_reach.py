"""Which rules of the core are decisive in each seed and each story, measured and kept."""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from fencepost.ci.bench.mutation.python.decisive import core_edits
from fencepost.ci.bench.mutation.python.limited_run import run_limited
from fencepost.ci.bench.mutation.python.python_edits import PythonEdit
from fencepost.ci.bench.mutation.python.scratch_tree import ROOT, environment, sources_of
from fencepost.ci.gate.seeds import GateSeed

KEPT = ROOT / ".fencepost" / "decisive_rules.json"
STORIES = ("tests/stories", "impl/sim/schedules")
DEPENDS_ON = (
    "ci/bench/mutation/python",
    "impl/core",
    "impl/mutants",
    "impl/sim",
    "fault_injection/faults",
    "fault_injection/stories",
    "fault_injection/workload",
)
"""What decides the traces, and which rules there are; a story is kept with its own text."""
PLAY = "fencepost.ci.bench.mutation.python.play"
CPU_S_PER_RUN = 10
JOBS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a seed or a story shows of the core as it is."""

    digest: str
    """Of the trace; empty for a story."""
    decisive: frozenset[int]
    """The numbers of the rules that are."""
    events: int = 1
    """Lines of its trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Of each seed and story what is decisive in it."""

    edits: tuple[PythonEdit, ...]
    """All rules, by number."""
    seeds: Mapping[GateSeed, Played]
    stories: Mapping[str, Played]

    def usual(self, edit: PythonEdit) -> dict[str, str]:
        """Seed -> digest of its trace, of those in which the rule is decisive."""
        return {str(seed): self.seeds[seed].digest for seed in self._of(self.seeds, edit)}

    def stories_of(self, edit: PythonEdit) -> list[str]:
        """The stories in which the rule is decisive."""
        return list(self._of(self.stories, edit))

    def _of(self, runs: Mapping[Any, Played], edit: PythonEdit) -> Iterator[Any]:
        number = self.edits.index(edit)
        for name, played in runs.items():
            if edit.is_at_import or number in played.decisive:
                yield name


def story_files() -> list[str]:
    """The stories that print something, from the root of the checkout."""
    paths = [path for folder in STORIES for path in sorted((ROOT / folder).glob("*.yaml"))]
    return [path.relative_to(ROOT).as_posix() for path in paths]


def measured_reach(seeds: Iterable[GateSeed], stories: Iterable[str]) -> Reach:
    """Of these runs what is kept of this checkout, and what is not, measured now.

    Raises `SystemExit` with a sentence when a run fails.
    """
    key = _key()
    found: dict[str, Any] = {"key": key, "runs": {}}
    if KEPT.is_file() and (kept := json.loads(KEPT.read_text())).get("key") == key:
        found = kept
    names = [*map(str, seeds)], [*stories]
    kept_as = {name: _kept_as(name) for some in names for name in some}
    missing = [[name for name in some if kept_as[name] not in found["runs"]] for some in names]
    if any(missing):
        measured_now = _measure(*missing)
        found["runs"].update({kept_as[name]: run for name, run in measured_now.items()})
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(found))
    runs = {name: _played(found["runs"][kept]) for name, kept in kept_as.items()}
    return Reach(
        edits=core_edits(),
        seeds={GateSeed.parse(name): runs[name] for name in names[0]},
        stories={name: runs[name] for name in names[1]},
    )


def _played(run: dict[str, Any]) -> Played:
    decisive = frozenset(run["decisive"])
    return Played(digest=run["digest"], decisive=decisive, events=run["events"])


def _kept_as(name: str) -> str:
    """The name of a run, of a story with what its file says now."""
    path = ROOT / name
    return f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}" if path.is_file() else name


def _measure(seeds: list[str], stories: list[str]) -> dict[str, Any]:
    """In several processes, each of which plays every so many-th run."""
    parts = [(seeds[first::JOBS], stories[first::JOBS]) for first in range(JOBS)]
    with ThreadPoolExecutor(JOBS) as pool:
        answers = pool.map(measured, *zip(*parts, strict=True))
        return {name: run for answer in answers for name, run in answer.items()}


def measured(seeds: list[str], stories: list[str]) -> dict[str, Any]:
    """What `play` says of these runs.

    The digests are those of the core as it is: a probe may ask what the core would not.
    """
    cpu_s = 60 + CPU_S_PER_RUN * (len(seeds) + len(stories))
    found = _asked({"decisive": True, "seeds": seeds, "stories": stories}, cpu_s)
    digests = _asked({"digests": seeds}, cpu_s)
    return {name: {**run, "digest": digests.get(name, "")} for name, run in found.items()}


def _asked(request: dict[str, Any], cpu_s: int) -> dict[str, Any]:
    command = [sys.executable, "-m", PLAY, json.dumps(request)]
    ended = run_limited(command, cwd=ROOT, environment=environment(), cpu_s=cpu_s)
    if ended.code:
        raise SystemExit(f"the seeds could not be played: {ended.errors.splitlines()[-1:]}")
    answer: dict[str, Any] = json.loads(ended.output)
    return answer


def _key() -> str:
    texts = hashlib.sha256()
    for path in sources_of(DEPENDS_ON):
        texts.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return texts.hexdigest()
