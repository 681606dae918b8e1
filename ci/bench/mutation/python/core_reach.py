"""Which functions of the core each seed of the gate and each story calls, measured and kept."""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.ci.bench.mutation.python.limited_run import run_limited
from fencepost.ci.bench.mutation.python.python_edits import PythonEdit
from fencepost.ci.bench.mutation.python.scratch_tree import ROOT, environment
from fencepost.ci.gate.tiers import EFFORT
from fencepost.spec.tlc.models import Tier

KEPT = ROOT / ".fencepost" / "mutation_reach.json"
SEEDS = range(EFFORT[Tier.QUICK].seeds)
"""Those of the gate."""
STORIES = ("tests/stories", "impl/sim/schedules")
DEPENDS_ON = ("impl", "conformance/whitebox", "fault_injection", "spec", "tests/stories")
PLAY = "fencepost.ci.bench.mutation.python.play"
CPU_S = 1200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Of each seed and story what it calls: file -> classes and functions."""

    digests: dict[str, str]
    seeds: dict[str, dict[str, frozenset[str]]]
    stories: dict[str, dict[str, frozenset[str]]]

    def usual(self, edit: PythonEdit) -> dict[str, str]:
        """Seed -> digest of its trace, of those that call the edited function."""
        return {seed: self.digests[seed] for seed in _reaching(self.seeds, edit)}

    def stories_of(self, edit: PythonEdit) -> list[str]:
        """The stories that call the edited function."""
        return list(_reaching(self.stories, edit))


def _reaching(runs: dict[str, dict[str, frozenset[str]]], edit: PythonEdit) -> Iterator[str]:
    for name, called in runs.items():
        if edit.is_at_import or edit.operator in called.get(edit.module, ()):
            yield name


def story_files() -> list[str]:
    """The stories that print something, from the root of the checkout."""
    paths = [path for folder in STORIES for path in sorted((ROOT / folder).glob("*.yaml"))]
    return [path.relative_to(ROOT).as_posix() for path in paths]


def measured_reach() -> Reach:
    """What is kept, if it is of this checkout, else measured anew: some minutes."""
    key = _key()
    if KEPT.is_file() and (kept := json.loads(KEPT.read_text()))["key"] == key:
        return _reach(kept)
    request = {"reach": True, "seeds": list(SEEDS), "stories": story_files()}
    command = [sys.executable, "-m", PLAY, json.dumps(request)]
    ended = run_limited(command, cwd=ROOT, environment=environment(), cpu_s=CPU_S)
    if ended.code:
        raise SystemExit(f"the seeds could not be played: {ended.errors.splitlines()[-1:]}")
    found = {"key": key, **json.loads(ended.output)}
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(found))
    return _reach(found)


def _reach(found: dict[str, Any]) -> Reach:
    return Reach(
        digests=found["digests"],
        seeds=_names(found["seeds"]),
        stories=_names(found["stories"]),
    )


def _names(runs: dict[str, dict[str, list[str]]]) -> dict[str, dict[str, frozenset[str]]]:
    return {
        run: {file: frozenset(names) for file, names in files.items()}
        for run, files in runs.items()
    }


def _key() -> str:
    texts = hashlib.sha256(str(SEEDS).encode())
    for path in _sources():
        texts.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return texts.hexdigest()


def _sources() -> Iterable[Path]:
    for folder in DEPENDS_ON:
        for suffix in ("*.py", "*.yaml"):
            yield from sorted((ROOT / folder).rglob(suffix))
