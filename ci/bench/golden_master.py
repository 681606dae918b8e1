"""Whether a change of structure left behaviour alone: `python -m fencepost.ci.bench.golden_master`.

`write FILE` makes the golden master: one line per run with the SHA-256 of its trace. `compare FILE`
plays the same runs again and names each one that differs; the exit code is 1 when one does.
What is played: seeds of the swarm (the levels take turns), dense runs, every story, every schedule
file that the simulator can do, variations of the stories, every mutant once at each level and along
its own schedule, and the outcome table of `spec/models.toml`.
`--first N` plays the first N runs of each part only, `--part NAME` only the parts that are named.
"""

import json
import sys
import tomllib
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from itertools import islice
from pathlib import Path

import msgspec

from fencepost.ci.screens.console import progress, say
from fencepost.conformance.checks.registry import judge
from fencepost.conformance.whitebox.run_shrink import HOSTS
from fencepost.conformance.whitebox.simulate import Subject, load
from fencepost.conformance.worker_pool import in_order
from fencepost.fault_injection.stories.story_file import as_document, read_story
from fencepost.reports.page.words import count
from fencepost.spec.tlc.models import MODELS, load_models
from fencepost.spec.trace import TraceEvent, encode_all
from fencepost.spec.vocabulary import NEWEST_LEVEL

SEEDS = 2_000
DENSE = 200
STORIES = (Path("tests/stories"), Path("impl/sim/schedules"))
SCHEDULES = Path("conformance/scenarios/stories")
VARIATIONS = 10
"""Numbers of which each is a run of many variations."""
CHUNK = 4
LEVELS = range(NEWEST_LEVEL + 1)
TOLD_MAX = 20

Run = tuple[str, str, int]
"""Part, name and level of one run."""


def main(arguments: Sequence[str]) -> None:
    """Write the golden master, or compare with it."""
    parser = ArgumentParser(prog="golden_master", description=__doc__)
    parser.add_argument("verb", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--first", type=int, metavar="N")
    parser.add_argument("--part", action="append", choices=sorted(PARTS))
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    runs = [
        run
        for part, (listed, _) in PARTS.items()
        if part in (given.part or PARTS)
        for run in islice(listed(), given.first)
    ]
    digests = _digests(runs, given.jobs)
    if given.verb == "write":
        given.file.write_text(json.dumps(digests, indent=0) + "\n", encoding="utf-8")
        say(f"{count(len(digests), 'run')} written to {given.file}")
    elif not _agrees(json.loads(given.file.read_text(encoding="utf-8")), digests):
        raise SystemExit(1)


def _digests(runs: Sequence[Run], jobs: int) -> dict[str, str]:
    digests: dict[str, str] = {}
    played = in_order(digest, runs, jobs=jobs, chunk=CHUNK)
    with closing(played), progress("golden master") as advance:
        for run, found in zip(runs, played, strict=True):
            digests[" ".join(map(str, run))] = found
            advance(len(digests), len(runs), run[0])
    return digests


def _agrees(golden: dict[str, str], digests: dict[str, str]) -> bool:
    moved = [run for run, found in digests.items() if golden.get(run) != found]
    for part, runs in Counter(run.split()[0] for run in moved).items():
        say(f"{part}: {count(runs, 'run')} moved")
    for run in moved[:TOLD_MAX]:
        say(f"  {run}" + ("" if run in golden else " (new)"))
    say(f"{len(digests) - len(moved):,} of {count(len(digests), 'run')} are the same")
    return not moved


def digest(run: Run) -> str:
    """The SHA-256 of what one run gives; of the error's words when it raises."""
    part, name, level = run
    try:
        found = PARTS[part][1](name, level)
    except (ValueError, AssertionError) as error:
        found = f"{type(error).__name__}: {error}".encode()
    return sha256(found).hexdigest()


def _swarm_runs() -> Iterator[Run]:
    return (("swarm", str(seed), LEVELS[seed % len(LEVELS)]) for seed in range(SEEDS))


def _swarm(name: str, level: int) -> bytes:
    return _bytes(load().simulate(int(name), level=level, mutant=None))


def _dense_runs() -> Iterator[Run]:
    return (("dense", str(number), NEWEST_LEVEL.value) for number in range(1, DENSE + 1))


def _dense(name: str, level: int) -> bytes:
    def never(_: Sequence[TraceEvent]) -> bool:
        return False

    moves, events = load().moves_of_number(int(name), level=level, mutant=None, is_enough=never)
    return _bytes(events) + msgspec.json.encode(moves)


def _story_runs() -> Iterator[Run]:
    found = sorted(path for folder in STORIES for path in folder.glob("*.yaml"))
    return (("story", path.stem, NEWEST_LEVEL.value) for path in found)


def _story(name: str, _: int) -> bytes:
    played = load().play(_story_file(name).read_text(encoding="utf-8"), judge)
    printed = [step["printed"] for step in played["steps"]]
    return json.dumps(printed).encode() + b"".join(map(_bytes, played["traces"]))


def _story_moves(name: str, _: int) -> bytes:
    return msgspec.json.encode(load().moves(str(_story_file(name)), is_repaired=False))


def _story_file(name: str) -> Path:
    (path,) = (found for folder in STORIES if (found := folder / f"{name}.yaml").is_file())
    return path


def _schedule_runs() -> Iterator[Run]:
    found = sorted(path.stem for path in SCHEDULES.glob("*.yaml"))
    return (("schedule", name, level) for name in found for level in LEVELS)


def _schedule(name: str, level: int) -> bytes:
    document = as_document(read_story(SCHEDULES / f"{name}.yaml"))
    traces = (load().play_story(document, level=level, host=host) for host in HOSTS)
    return b"".join(map(_bytes, traces))


def _variation_runs() -> Iterator[Run]:
    return (("variation", str(number), NEWEST_LEVEL.value) for number in range(1, VARIATIONS + 1))


def _variation(name: str, _: int) -> bytes:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in STORIES[0].glob("*.yaml")}
    found = load().variations(texts, int(name), mutant=None, skips_own=False)
    return b"".join(_bytes(events) for _, _, events in found)


def _mutant_runs() -> Iterator[Run]:
    records = load().mutants()
    return (("mutant", str(record["mutant"]), level) for record in records for level in LEVELS)


def _mutant(name: str, level: int) -> bytes:
    (seed,) = (int(one["seed"]) for one in load().mutants() if one["mutant"] == name)
    return _bytes(Subject(level=level, mutant=name).simulate(seed))


def _replay_runs() -> Iterator[Run]:
    records = load().mutants()
    return (
        ("replay", str(one["mutant"]), NEWEST_LEVEL.value) for one in records if one.get("shows")
    )


def _replay(name: str, _: int) -> bytes:
    done = load().replay(name, judge)
    told = [name, done["steps"], done["of"], done["mismatch"], done["violated"], done["wanted"]]
    return json.dumps(told).encode() + _bytes(done["events"])


def _model_runs() -> Iterator[Run]:
    return (("model", model.name, 0) for model in load_models())


def _model(name: str, _: int) -> bytes:
    rows = tomllib.loads(MODELS.read_text(encoding="utf-8"))["model"]
    return json.dumps([row for row in rows if row["name"] == name], sort_keys=True).encode()


def _bytes(events: Sequence[TraceEvent]) -> bytes:
    return b"".join(encode_all(events))


PARTS: dict[str, tuple[Callable[[], Iterator[Run]], Callable[[str, int], bytes]]] = {
    "story": (_story_runs, _story),
    "moves": (lambda: (("moves", name, level) for _, name, level in _story_runs()), _story_moves),
    "schedule": (_schedule_runs, _schedule),
    "variation": (_variation_runs, _variation),
    "replay": (_replay_runs, _replay),
    "mutant": (_mutant_runs, _mutant),
    "dense": (_dense_runs, _dense),
    "swarm": (_swarm_runs, _swarm),
    "model": (_model_runs, _model),
}
"""Which runs a part has, and how one of them is played."""

if __name__ == "__main__":
    main(sys.argv[1:])
