"""Whether wrong rules are found on real processes.

Run `python -m fencepost.ci.bench.mutants_on_processes`.

Each mutant is led along its schedule (`mutants_on_processes.toml`), with the rule broken and as it
should be. Random runs follow, one of each kind per mutant and number, until each mutant is found or
has had its runs: variations of scenarios, first of those that were written for other mutants, then
of all, and dense runs. The simulator plays them, and processes repeat what it finds. With `--free`
chaos scenarios follow, which run freely.

Results are appended to a file as they come, so that a long measurement can be interrupted and taken
up again; what the file holds is not measured anew. `--page FILE` writes the table of it.
"""

import argparse
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from fencepost.ci.screens.console import note, say
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.whitebox import mutants_on_processes as mutants
from fencepost.conformance.whitebox.mutants_on_processes import (
    Directed,
    Drawn,
    play_drawn,
    run_drawn,
    run_varied,
)
from fencepost.spec.zookeeper import ZooKeeperError

ROOT = Path(__file__).resolve().parents[2]
SCHEDULES = Path(__file__).with_name("mutants_on_processes.toml")
VARIED = (ROOT / "tests" / "stories", ROOT / "impl" / "sim" / "schedules")
RESULTS = Path(".fencepost") / "mutants_on_processes.ndjson"
TRIES_MAX = 2
"""How often a schedule is led that could not be played to its end."""
OTHERS, ALL, DENSE, FREE = "others", "varied", "drawn", "free"
"""Kinds of random runs: variations of scenarios of one mutant, of all, dense, and free-running."""
HELD_OUT = (OTHERS, DENSE)
"""Those that know nothing of the mutant."""
LED = (OTHERS, ALL, DENSE)
SHARE_WANTED = 0.9
"""Of the mutants, within the runs that each may have."""

InTime = Callable[[], bool]
"""True while something may be begun."""


@dataclass(slots=True)
class Results:
    """What has been measured: the last directed run of each mutant, and all that were drawn."""

    path: Path
    directed: dict[str, dict[str, Any]] = field(default_factory=dict)
    random: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    """Kind and mutant -> its random runs."""

    def add(self, kind: str, row: Mapping[str, Any]) -> None:
        """One more, which is in the file at once."""
        with self.path.open("ab") as file:
            file.write(msgspec.json.encode({"kind": kind, **row}) + b"\n")
        self.take({"kind": kind, **row})

    def take(self, row: dict[str, Any]) -> None:
        """A line of the file."""
        kind = row.pop("kind")
        if kind == "directed":
            self.directed[row["mutant"]] = row
        else:
            self.random.setdefault((kind, row["mutant"]), []).append(row)

    def runs(self, mutant: str, kinds: Sequence[str]) -> list[dict[str, Any]]:
        """The random runs of these kinds, by number."""
        rows = [row for kind in kinds for row in self.random.get((kind, mutant), [])]
        return sorted(rows, key=lambda row: int(row["number"]))

    def first_find(self, mutant: str, kinds: Sequence[str] = LED) -> dict[str, Any] | None:
        """The random run of the lowest number that found the mutant."""
        return next((row for row in self.runs(mutant, kinds) if row["found"]), None)

    def has_run(self, mutant: str, number: int, kind: str) -> bool:
        """The random run of that number was made."""
        return any(row["number"] == number for row in self.runs(mutant, (kind,)))


def read_results(path: Path) -> Results:
    """What the file holds; a last line that was cut off does not count."""
    path.parent.mkdir(parents=True, exist_ok=True)
    results = Results(path)
    text = path.read_bytes() if path.exists() else b""
    whole, _, torn = text.rpartition(b"\n")
    if torn:
        path.write_bytes(whole + b"\n" if whole else b"")
    for line in whole.splitlines():
        results.take(msgspec.json.decode(line))
    return results


def ways() -> dict[str, dict[str, str]]:
    """Mutant -> `{"schedules": ...}`, `{"scenarios": ...}` or `{"unplayable": reason}`."""
    document = tomllib.loads(SCHEDULES.read_text())
    return {mutant: {how: what} for how, rows in document.items() for mutant, what in rows.items()}


def lead(mutant: str, folder: Path) -> Directed:
    """The mutant along its schedule; raises `ChoiceError`, or `ZooKeeperError` without a server."""
    ((how, what),) = ways()[mutant].items()
    if how == "scenarios":
        return mutants.play(mutant, what, out=folder)
    schedule = str(ROOT / what) if "/" in what else what
    return mutants.run_directed(mutant, schedule, out=folder)


def lead_all(results: Results, names: Sequence[str], scratch: Path, in_time: InTime) -> None:
    """Every mutant without a kill along its schedule is tried again."""
    for mutant in names:
        how = ways()[mutant]
        if "unplayable" in how or is_killed(results.directed.get(mutant)):
            continue
        for attempt in range(TRIES_MAX):
            if not in_time():
                return
            folder = scratch / f"{mutant}-{attempt}"
            try:
                led = lead(mutant, folder)
            except (ChoiceError, ZooKeeperError) as error:
                note(f"{mutant}: {error}")
                break
            row = {**asdict(led), "schedule": next(iter(how.values()))}
            results.add("directed", row)
            told = ", ".join(led.found) or "nothing"
            note(
                f"{mutant}: {told}; without it {', '.join(led.without) or 'nothing'} "
                f"({led.seconds:.0f} s) {led.problem}".rstrip()
            )
            if led.is_killed:
                shutil.rmtree(folder, ignore_errors=True)
                break


def is_killed(row: Mapping[str, Any] | None) -> bool:
    """The schedule of that row was played, and only the mutant violates something."""
    return row is not None and bool(row["found"]) and not row["without"] and not row["problem"]


def draw_all(
    results: Results,
    kind: str,
    names: Sequence[str],
    runs: int,
    scratch: Path,
    in_time: InTime,
) -> None:
    """The first random run of each mutant, then the second of those not yet found, and so on."""
    for number in range(1, runs + 1):
        for mutant in names:
            kinds = (FREE,) if kind == FREE else LED
            if results.first_find(mutant, kinds) or results.has_run(mutant, number, kind):
                continue
            if not in_time():
                return
            folder = scratch / f"{mutant}-{kind}-{number}"
            drawn = draw(kind, mutant, number, folder)
            results.add(kind, asdict(drawn))
            told = ", ".join(drawn.found) or f"nothing {drawn.problem}".rstrip()
            if drawn.repetitions or kind == FREE:
                note(f"run {number} of {mutant}, {drawn.scenario}: {told} ({drawn.seconds:.0f} s)")
            shutil.rmtree(folder, ignore_errors=True)


def draw(kind: str, mutant: str, number: int, folder: Path) -> Drawn:
    """The random run of that kind and number."""
    if kind == FREE:
        return play_drawn(mutant, number, out=folder)
    if kind == DENSE:
        return run_drawn(mutant, number, out=folder)
    return run_varied(mutant, number, scenarios(), skips_own=kind == OTHERS, out=folder)


@cache
def scenarios() -> dict[str, str]:
    """Name -> text of the stories that are varied."""
    paths = sorted(path for folder in VARIED for path in folder.glob("*.yaml"))
    return {path.stem: path.read_text() for path in paths}


def page(results: Results) -> str:
    """The table, for people."""
    rows = list(_rows(results))
    known = ways()
    killed = sum(is_killed(results.directed.get(mutant)) for mutant in known)
    found = sum(results.first_find(mutant) is not None for mutant in known)
    held_out = sum(results.first_find(mutant, HELD_OUT) is not None for mutant in known)
    free = sum(results.first_find(mutant, (FREE,)) is not None for mutant in known)
    led, unled = (
        sum(len(results.runs(mutant, kinds)) for mutant in known) for kinds in (LED, (FREE,))
    )
    head = [
        "# Mutants on real processes",
        "",
        "Written by `python -m fencepost.ci.bench.mutants_on_processes --page FILE`, from what it "
        "measured.",
        "",
        f"Of {len(known)} mutants, {killed} are found along a directed schedule and "
        f"{found} by chance, {held_out} of them without the scenarios that were written for them, "
        f"in {led} random runs: where the simulator finds something, processes repeat it.",
        *([f"{unled} others run freely, and find {free} mutants."] if unled else []),
        "",
        "| mutant | schedule | found by | moves | seconds | random: first find |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"


def _rows(results: Results) -> Iterator[str]:
    for mutant, how in ways().items():
        ((kind, what),) = how.items()
        row = results.directed.get(mutant)
        if kind == "unplayable":
            cells = ["-", f"not shown: {what}", "-", "-"]
        elif row is None:
            cells = [what, "not measured", "-", "-"]
        else:
            cells = [what, _told(row), str(row["moves"] or "-"), f"{row['seconds']:.0f}"]
        yield f"| {' | '.join([mutant, *cells, _by_chance(results, mutant)])} |"


def _told(row: Mapping[str, Any]) -> str:
    if row["problem"]:
        return f"not played: {row['problem']}"
    if row["without"]:
        return f"also without the mutant: {', '.join(row['without'])}"
    named, others = row["named"], [name for name in row["found"] if name not in row["named"]]
    told = [f"**{name}**" for name in named] + others
    return ", ".join(told) or "nothing"


def _by_chance(results: Results, mutant: str) -> str:
    told = []
    for kinds, others in ((LED, ""), ((FREE,), " that run freely")):
        runs, find = results.runs(mutant, kinds), results.first_find(mutant, kinds)
        if find is not None:
            told.append(f"run {find['number']}, {find['scenario']}: {', '.join(find['found'])}")
        elif runs:
            told.append(f"none of {max(row['number'] for row in runs)}{others}")
    return "; ".join(told) or "not measured"


def main(arguments: Sequence[str]) -> int:
    """Measure, or write the page; 0 when all that was asked for is found, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m fencepost.ci.bench.mutants_on_processes", description=__doc__
    )
    parser.add_argument("--only", default="", metavar="NAMES", help="mutants, with commas")
    parser.add_argument("--hours", type=float, default=24.0, help="begin nothing afterwards")
    parser.add_argument("--runs", type=int, default=20, help="random runs per mutant at most")
    parser.add_argument("--free", action="store_true", help="add random runs that are not stepped")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="keep those of what failed")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table, run nothing")
    given = parser.parse_args(arguments)
    results = read_results(given.results)
    if given.page:
        given.page.write_text(page(results))
        return 0
    names = given.only.split(",") if given.only else list(ways())
    if unknown := sorted({*names} - ways().keys()):
        parser.error(f"unknown mutant {unknown[0]}; fencepost mutants list names all")
    until = monotonic() + given.hours * 3600
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        scratch = Path(tempfile.mkdtemp(dir=given.traces)) if given.traces else Path(folder)
        lead_all(results, names, scratch, lambda: monotonic() < until)
        for kind in (*LED, FREE) if given.free else LED:
            draw_all(results, kind, names, given.runs, scratch, lambda: monotonic() < until)
    return _summary(results, names, given.runs)


def _summary(results: Results, names: Sequence[str], runs: int) -> int:
    killed = sum(is_killed(results.directed.get(mutant)) for mutant in names)
    found = sum(results.first_find(mutant) is not None for mutant in names)
    say(f"{killed} of {len(names)} mutants are found along their schedules")
    say(
        f"{found} of {len(names)} by chance, in at most {runs} runs each; wanted {SHARE_WANTED:.0%}"
    )
    is_enough = not runs or found >= SHARE_WANTED * len(names)
    return 0 if killed == len(names) and is_enough else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
