"""The last measured scores as a page: `python -m fencepost.ci.bench.mutation.page RESULTS... FILE`.

RESULTS are what the mutators wrote with `--results`; several of one mutator are taken together, the
last one of an edit counts. What FILE says of a mutator that is in none of them stays.
"""

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

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


def main(arguments: Sequence[str]) -> int:
    """Write the page; 4 when no results or no page are named."""
    if len(arguments) < ARGUMENTS_MIN:
        sys.stderr.write("usage: python -m fencepost.ci.bench.mutation.page RESULTS... FILE\n")
        return 4
    *results, page_file = map(Path, arguments)
    before = page_file.read_text() if page_file.exists() else ""
    page_file.write_text(page([json.loads(path.read_text()) for path in results], before))
    return 0


def page(documents: Sequence[Row], before: str = "") -> str:
    """The page about results, as `score.document` has them.

    What it said `before` stays where there are no results.
    """
    rows: dict[str, dict[tuple[str, str], Row]] = {}
    draws: defaultdict[str, set[str]] = defaultdict(set)
    for document in documents:
        draws[document["title"]].add(drawn_in(document))
        known = rows.setdefault(document["title"], {})
        known.update({(row["key"], row["after"]): row for row in document["edits"]})
    parts = [HEAD]
    for name, scale in SCALES.items():
        if scale.title in rows:
            reasons = read_reasons(FOLDER / name)
            listed = [_as_listed(row, reasons) for _, row in sorted(rows[scale.title].items())]
            parts.append("\n".join(_section(scale, listed, sorted(draws[scale.title]))))
        elif kept := re.search(rf"^## {scale.title.capitalize()}$.*?(?=\n## |\Z)", before, WHOLE):
            parts.append(kept[0].rstrip("\n"))
    return "\n\n".join(parts) + "\n"


def _as_listed(row: Row, reasons: Reasons) -> Row:
    """With the reasons of now: some are found after the edit was judged."""
    edit = Scored.of_data(row).edit
    found = {"equivalent": reasons.of_equivalent(edit), "excuse": reasons.of_survivor(edit)}
    return {**row, **{name: told for name, told in found.items() if told}}


def _section(scale: Scale, rows: Sequence[Row], draws: Sequence[str]) -> Iterator[str]:
    live = [row for row in rows if not row["equivalent"]]
    counted = [row for row in live if row["outcome"] not in scale.without_count]
    yield from (f"## {scale.title.capitalize()}", "")
    equivalent = len(rows) - len(live)
    yield f"Drawn by {', '.join(f'`{options}`' for options in draws)}, judged by lot."
    yield f"{len(rows)} were tried, {equivalent} of them equivalent; {len(counted)} count."
    for goal in scale.goals:
        killed = sum(row["outcome"] in goal.outcomes for row in counted)
        share = f"{killed} of {len(counted)} ({killed / max(len(counted), 1):.0%})"
        yield f"{goal.name.capitalize()}: {share}, wanted {goal.share:.0%}."
    yield from ("", "| outcome | edits |", "|---|---|")
    ended = Counter(row["outcome"] for row in live)
    yield from (f"| {name} | {ended[name]} |" for name in scale.outcomes if ended[name])
    yield from _by_kind(scale, counted)
    yield from _survivors(scale, counted)


def _by_kind(scale: Scale, counted: Sequence[Row]) -> Iterator[str]:
    wanted = scale.wanted
    kinds: defaultdict[str, list[bool]] = defaultdict(list)
    for row in counted:
        kinds[row["kind"]].append(row["outcome"] in wanted)
    yield from ("", "| kind | killed | of |", "|---|---|---|")
    yield from (f"| {kind} | {sum(ends)} | {len(ends)} |" for kind, ends in sorted(kinds.items()))


def _survivors(scale: Scale, counted: Sequence[Row]) -> Iterator[str]:
    left = [row for row in counted if row["outcome"] not in scale.wanted]
    if not left:
        return
    yield from ("", "| survivor | edit | what became of it | reason |", "|---|---|---|---|")
    for row in left:
        place = f"{row['module']}, {row['operator']}, {row['kind']}"
        edit = f"`{one_line(row['before'])}` to `{one_line(row['after']) or ' '}`"
        cells = (place, edit, row["outcome"], row["excuse"] or "-")
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
