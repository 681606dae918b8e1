"""What became of edits: outcomes, the score, and the survivors as people read them."""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from fencepost.ci.bench.mutation.edit import AnyEdit, Edit
from fencepost.ci.screens.console import note, say, show_json, show_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """An edit and what became of it."""

    edit: Edit
    outcome: str
    by: str = ""
    """The property, check, story or test, and where it said so."""
    diff: str = ""
    equivalent: str = ""
    """Why it is; empty when it is not known to be."""
    harmless: str = ""
    """Why what it changes is allowed; empty when that is not known."""
    excuse: str = ""
    """Why it may survive; empty when that is not known."""
    seconds: float = 0.0

    @classmethod
    def of_data(cls, data: dict[str, Any]) -> "Scored":
        """What `as_data` said, without the place in the text."""
        number = re.search(r" \((\d+)\): ", data["key"])
        told = {name: data[name] for name in ("module", "operator", "kind", "before", "after")}
        edit = Edit(**told, start=0, line=data["line"], number=int(number[1]) if number else 1)
        rest = ("outcome", "by", "diff", "equivalent", "excuse", "seconds")
        told = {name: data[name] for name in rest}
        return cls(edit=edit, harmless=data.get("harmless", ""), **told)

    def as_data(self) -> dict[str, Any]:
        """JSON-able."""
        edit = self.edit
        return {
            "key": edit.key,
            "module": edit.module,
            "operator": edit.operator,
            "kind": edit.kind,
            "line": edit.line,
            "before": edit.before,
            "after": edit.after,
            "outcome": self.outcome,
            "by": self.by,
            "equivalent": self.equivalent,
            "harmless": self.harmless,
            "excuse": self.excuse,
            "diff": self.diff,
            "seconds": round(self.seconds, 1),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What share of the edits that count is to end so."""

    outcomes: tuple[str, ...]
    share: float
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The outcomes of one mutator, the best first, and what is wanted of them."""

    title: str
    outcomes: tuple[str, ...]
    without_count: frozenset[str]
    """Outcomes of edits that are no test of anything, such as one that does not parse."""
    goals: tuple[Goal, ...]

    @property
    def wanted(self) -> frozenset[str]:
        """The outcomes of edits that were noticed by what they should be."""
        return frozenset(outcome for goal in self.goals for outcome in goal.outcomes)

    def counted(self, scored: Iterable[Scored]) -> tuple[Scored, ...]:
        """The edits that count: neither equivalent nor stillborn, nor harmless and not noticed."""
        return tuple(
            one
            for one in scored
            if not one.equivalent
            and one.outcome not in self.without_count
            and not (one.harmless and one.outcome not in self.wanted)
        )

    def unnoticed(self, scored: Iterable[Scored]) -> int:
        """How many are harmless, and noticed by nothing."""
        return sum(bool(one.harmless) and one.outcome not in self.wanted for one in scored)

    def share(self, scored: Iterable[Scored], outcomes: Sequence[str]) -> float:
        """Of the edits that count, the part with these outcomes; 1 where none counts."""
        counted = self.counted(scored)
        return sum(one.outcome in outcomes for one in counted) / len(counted) if counted else 1.0

    def survivors(self, scored: Iterable[Scored]) -> tuple[Scored, ...]:
        """The edits that count and met no goal at all."""
        return tuple(one for one in self.counted(scored) if one.outcome not in self.wanted)

    def missed(self, scored: Sequence[Scored]) -> tuple[Goal, ...]:
        """The goals that are not reached by the edits that have no excuse."""
        judged = [one for one in scored if not one.excuse]
        return tuple(goal for goal in self.goals if self.share(judged, goal.outcomes) < goal.share)


def show_score(scale: Scale, scored: Sequence[Scored]) -> None:
    """Survivors as diffs, how many ended how, and the goals."""
    for one in scale.survivors(scored):
        say(f"\n{one.edit.module}, line {one.edit.line}, {one.edit.operator}: {one.outcome}")
        say("\n".join(filter(None, (one.by, one.excuse, one.diff))))
    ended = Counter(one.outcome for one in scored if not one.equivalent)
    rows = [(outcome, str(ended[outcome])) for outcome in scale.outcomes if ended[outcome]]
    equivalent = sum(bool(one.equivalent) for one in scored)
    rows += ("equivalent", str(equivalent)), ("harmless, not noticed", str(scale.unnoticed(scored)))
    show_table(scale.title, ("outcome", "edits"), rows)
    excused = sum(bool(one.excuse) for one in scale.survivors(scored))
    for goal in scale.goals:
        share = scale.share(scored, goal.outcomes)
        count = len(scale.counted(scored))
        say(f"{goal.name}: {share:.1%} of {count} edits that count; wanted {goal.share:.0%}")
    say(f"{excused} of {len(scale.survivors(scored))} survivors have a known reason")


def document(scale: Scale, scored: Sequence[Scored], drawn: str) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "title": scale.title,
        "drawn": drawn,
        "scores": {goal.name: scale.share(scored, goal.outcomes) for goal in scale.goals},
        "goals": {goal.name: goal.share for goal in scale.goals},
        "counted": len(scale.counted(scored)),
        "equivalent": sum(bool(one.equivalent) for one in scored),
        "harmless": scale.unnoticed(scored),
        "ended": dict(Counter(one.outcome for one in scored if not one.equivalent)),
        "edits": [one.as_data() for one in scored],
    }


def parser_of(prog: str, description: str | None) -> argparse.ArgumentParser:
    """The options that all mutators have."""
    parser = argparse.ArgumentParser(prog=f"python -m {prog}", description=description)
    parser.add_argument("--module", action="append", default=[], help="only edits of these")
    parser.add_argument("--count", type=int, default=50, help="so many edits, at random")
    parser.add_argument("--seed", type=int, default=0, help="which are drawn")
    parser.add_argument("--each", type=int, default=0, help="at least so many of every module")
    parser.add_argument("--jobs", type=int, default=2, help="so many at a time")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--list", action="store_true", help="name the edits, judge none")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the result there, too")
    parser.add_argument("--again", type=Path, metavar="FILE", help="judge its survivors, no others")
    return parser


def drawn_in(told: dict[str, Any]) -> str:
    """The same as a document says it; one of before has the seed alone."""
    return str(told["drawn"]) if "drawn" in told else f"--seed {told['seed']}"


def drawn_by(given: argparse.Namespace) -> str:
    """The options by which edits are drawn, or were, where they are judged again."""
    if given.again is not None:
        return drawn_in(json.loads(given.again.read_text()))
    modules = "".join(f"--module {name} " for name in given.module)
    each = f"--each {given.each} " if given.each else ""
    return f"{modules}--count {given.count} {each}--seed {given.seed}"


def read_results(path: Path) -> tuple[Scored, ...]:
    """What was written with `--results`."""
    return tuple(Scored.of_data(row) for row in json.loads(path.read_text())["edits"])


def left_of(
    scale: Scale, before: Sequence[Scored], edits: Sequence[AnyEdit]
) -> tuple[tuple[AnyEdit, ...], tuple[Scored, ...]]:
    """What of earlier results is to be judged again, and what stays.

    What is in a place that is no more, or another one now, is neither.
    """
    survivors = {_place(one.edit) for one in scale.survivors(before)}
    there = {_place(edit) for edit in edits}
    drawn = tuple(edit for edit in edits if _place(edit) in survivors)
    return drawn, tuple(one for one in before if _place(one.edit) in there - survivors)


def _place(edit: Edit) -> tuple[str, str]:
    return edit.key, edit.after


@dataclass(slots=True, kw_only=True)
class JudgedEdits:
    """What has been judged so far: told line by line, and written after each edit.

    Results of a run that is stopped are those of a smaller sample.
    """

    scale: Scale
    drawn: str
    """The options by which the edits were drawn."""
    path: Path | None = None
    scored: list[Scored] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def add(self, one: Scored) -> None:
        """One more, from any thread."""
        by = f" by {one.by}" if one.by else ""
        note(f"{one.outcome}{by} ({one.seconds:.0f} s): {one.edit.key}")
        with self._lock:
            self.scored.append(one)
            self.write()

    def write(self) -> None:
        """All of them, at once."""
        if self.path is not None:
            told = document(self.scale, self.scored, self.drawn)
            draft = self.path.with_name(f"{self.path.name}.draft")
            draft.write_text(json.dumps(told, indent=1) + "\n")
            draft.replace(self.path)

    def finish(self, *, is_json: bool) -> int:
        """Show the result; 0 when what has no excuse reaches the goals, else 1."""
        self.write()
        if is_json:
            show_json(document(self.scale, self.scored, self.drawn))
        else:
            show_score(self.scale, self.scored)
        return 1 if self.scale.missed(self.scored) else 0


def list_edits(edits: Iterable[Edit]) -> int:
    """Name them, with their places."""
    for edit in edits:
        say(f"{edit.module}:{edit.line} {edit.operator} {edit.kind}: {edit.told}")
    return 0
