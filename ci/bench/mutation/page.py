"""The last measured scores as a page: `python -m fencepost.ci.bench.mutation.page RESULTS... FILE`.

RESULTS are what the mutators wrote with `--results`; several of one mutator are taken together, the
first one of an edit counts. Those of a draw that came before are what was judged with `--again`,
after survivors were mended: they are told beside the score, which stays as drawn. What FILE says of
a mutator that is in none of them stays. Beside FILE the scores alone are written as TOML, for the
report of the gate.
"""

import json
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.ci.bench.mutation import checks, spec_scores
from fencepost.ci.bench.mutation.edit import one_line
from fencepost.ci.bench.mutation.python import core_scores
from fencepost.ci.bench.mutation.reasons import FOLDER, Reasons, read_reasons
from fencepost.ci.bench.mutation.score import Scale, Scored, drawn_in

SCALES = {
    "specs.toml": spec_scores.SCALE,
    "core.toml": core_scores.SCALE,
    "checks.toml": checks.SCALE,
}
"""File of reasons -> what it speaks of, in the order of the page."""
ARGUMENTS_MIN = 2

HEAD = (
    "# Edits at random\n\n"
    "Written by `python -m fencepost.ci.bench.mutation.page RESULTS... FILE`, from what "
    "`specs`, `core` and `checks` beside it measured with `--results`."
)
WHOLE = re.MULTILINE | re.DOTALL

Row = dict[str, Any]
_Place = tuple[str, str]
"""Key, and text after the edit."""


def main(arguments: Sequence[str]) -> int:
    """Write the page; 4 when no results or no page are named."""
    if len(arguments) < ARGUMENTS_MIN:
        sys.stderr.write("usage: python -m fencepost.ci.bench.mutation.page RESULTS... FILE\n")
        return 4
    *results, page_file = map(Path, arguments)
    measured = _measured([json.loads(path.read_text()) for path in results])
    for path, write in ((page_file, page), (page_file.with_suffix(".toml"), scores)):
        path.write_text(write(measured, path.read_text() if path.exists() else ""))
    return 0


class MeasuredEdits(NamedTuple):
    """What was measured of one mutator."""

    rows: Sequence[Row]
    draws: Sequence[str]
    """The options by which the edits were drawn."""
    again: Mapping[_Place, Row | None]
    """What became of edits that were judged again; None where their code is gone."""


def _measured(documents: Sequence[Row]) -> dict[str, MeasuredEdits]:
    """By title, of results as `score.document` has them."""
    rows: defaultdict[str, dict[_Place, Row]] = defaultdict(dict)
    again: defaultdict[str, dict[_Place, Row | None]] = defaultdict(dict)
    draws: defaultdict[str, dict[str, dict[_Place, Row]]] = defaultdict(dict)
    for document in documents:
        title = document["title"]
        judged = {_place(row): row for row in document["edits"]}
        drawn = draws[title].setdefault(drawn_in(document), judged)
        later = drawn if drawn is not judged else judged.keys() & rows[title].keys()
        again[title].update({place: judged.get(place) for place in later})
        rows[title] = judged | rows[title]
    found = {}
    for name, scale in SCALES.items():
        if scale.title in rows:
            reasons = read_reasons(FOLDER / name)
            listed = [_as_listed(row, reasons) for _, row in sorted(rows[scale.title].items())]
            draws_of = sorted(draws[scale.title])
            found[scale.title] = MeasuredEdits(listed, draws_of, again[scale.title])
    return found


def page(measured: Mapping[str, MeasuredEdits], before: str = "") -> str:
    """The page; what it said `before` stays where nothing was measured."""
    parts = [HEAD]
    for scale in SCALES.values():
        if scale.title in measured:
            parts.append("\n".join(_section(scale, measured[scale.title])))
        elif kept := re.search(rf"^## {scale.title.capitalize()}$.*?(?=\n## |\Z)", before, WHOLE):
            parts.append(kept[0].rstrip("\n"))
    return "\n\n".join(parts) + "\n"


def scores(measured: Mapping[str, MeasuredEdits], before: str = "") -> str:
    """The scores as TOML; what it said `before` stays where nothing was measured."""
    kept = tomllib.loads(before).get("score", [])
    parts = ["# The scores of edits_at_random.md, and written with it.\n"]
    for scale in SCALES.values():
        rows = [row for row in kept if row["title"] == scale.title]
        if scale.title in measured:
            rows = list(_scores(scale, measured[scale.title]))
        for row in rows:
            told = (f"{name} = {json.dumps(value)}\n" for name, value in row.items())
            parts.append("".join(("[[score]]\n", *told)))
    return "\n".join(parts)


def _scores(scale: Scale, measured: MeasuredEdits) -> Iterator[Row]:
    """One for each goal."""
    counted = _counted(scale, measured.rows)
    for goal in scale.goals:
        killed = sum(row["outcome"] in goal.outcomes for row in counted)
        told = {"title": scale.title, "goal": goal.name, "killed": killed, "of": len(counted)}
        yield {**told, "wanted": goal.share, "drawn": ", ".join(measured.draws)}


def _counted(scale: Scale, rows: Sequence[Row]) -> list[Row]:
    """The edits that are a test of something."""
    return [row for row in rows if scale.counted((Scored.of_data(row),))]


def _as_listed(row: Row, reasons: Reasons) -> Row:
    """With the reasons of now: some are found after the edit was judged."""
    edit = Scored.of_data(row).edit
    found = {
        "equivalent": reasons.of_equivalent(edit),
        "harmless": reasons.of_harmless(edit),
        "excuse": reasons.of_survivor(edit),
    }
    return {"harmless": "", **row, **{name: told for name, told in found.items() if told}}


def _section(scale: Scale, measured: MeasuredEdits) -> Iterator[str]:
    rows, draws, _ = measured
    live = [row for row in rows if not row["equivalent"]]
    counted = _counted(scale, rows)
    yield from (f"## {scale.title.capitalize()}", "")
    equivalent = len(rows) - len(live)
    yield f"Drawn by {', '.join(f'`{options}`' for options in draws)}, judged by lot."
    harmless = scale.unnoticed(map(Scored.of_data, rows))
    told = f"{equivalent} of them equivalent, {harmless} harmless and not noticed"
    yield f"{len(rows)} were tried, {told}; {len(counted)} count."
    for row in _scores(scale, measured):
        share = f"{row['killed']} of {row['of']} ({row['killed'] / max(row['of'], 1):.0%})"
        all_of = row["killed"] / max(row["of"] + harmless, 1)
        told = f"; {all_of:.0%} with the harmless ones counted" if harmless else ""
        yield f"{row['goal'].capitalize()}: {share}, wanted {row['wanted']:.0%}{told}."
    yield from _judged_again(scale, measured)
    yield from ("", "| outcome | edits |", "|---|---|")
    ended = Counter(row["outcome"] for row in live)
    yield from (f"| {name} | {ended[name]} |" for name in scale.outcomes if ended[name])
    yield from _by_kind(scale, counted)
    judged = [row for row in live if row["outcome"] not in scale.without_count]
    yield from _survivors(scale, judged, measured.again)


def _judged_again(scale: Scale, measured: MeasuredEdits) -> Iterator[str]:
    places = {_place(row) for row in _counted(scale, measured.rows)}
    judged = [row for place, row in measured.again.items() if place in places]
    left = [row for row in judged if row is not None]
    if judged:
        killed = sum(row["outcome"] in scale.wanted for row in left)
        gone = f"{len(judged) - len(left)} were in code that is gone"
        yield f"With survivors mended and judged again: {killed} of {len(left)}, and {gone}."


def _place(row: Row) -> _Place:
    return row["key"], row["after"]


def _by_kind(scale: Scale, counted: Sequence[Row]) -> Iterator[str]:
    wanted = scale.wanted
    kinds: defaultdict[str, list[bool]] = defaultdict(list)
    for row in counted:
        kinds[row["kind"]].append(row["outcome"] in wanted)
    yield from ("", "| kind | killed | of |", "|---|---|---|")
    yield from (f"| {kind} | {sum(ends)} | {len(ends)} |" for kind, ends in sorted(kinds.items()))


def _survivors(
    scale: Scale, rows: Sequence[Row], again: Mapping[_Place, Row | None]
) -> Iterator[str]:
    left = [row for row in rows if row["outcome"] not in scale.wanted]
    if not left:
        return
    yield from ("", "| survivor | edit | what became of it | reason |", "|---|---|---|---|")
    for row in left:
        place = f"{row['module']}, {row['operator']}, {row['kind']}"
        edit = f"`{one_line(row['before'])}` to `{one_line(row['after']) or ' '}`"
        allowed = f"Harmless: {row['harmless']}" if row["harmless"] else ""
        became = row["outcome"]
        later = again.get(_place(row), row)
        told = later["outcome"] if later else "its code is gone"
        if told != became:
            became = f"{became}; later: {told}"
        cells = (place, edit, became, allowed or row["excuse"] or "-")
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
