"""Whether a change of the specs that was not foreseen violates a property.

Run `python -m fencepost.ci.bench.mutation.specs`.

One conjunct, update, comparison, condition or set operation of what `Next` reaches is changed at a
time, in a copy of the modules, and the rows are run on it until one that holds violates a property,
or one that is violated holds. A state count that moves is no property. The exit code is 1 when
fewer edits than the goal are killed; `specs.toml` lists those that change nothing, with reasons.
"""

import sys
from collections.abc import Sequence

from fencepost.ci.bench.mutation.edit import sample
from fencepost.ci.bench.mutation.reasons import FOLDER, read_reasons
from fencepost.ci.bench.mutation.score import (
    JudgedEdits,
    Scored,
    drawn_by,
    left_of,
    list_edits,
    parser_of,
    read_results,
)
from fencepost.ci.bench.mutation.spec_rows import protocol_of, rows_of
from fencepost.ci.bench.mutation.spec_scores import EDIT_BUDGET_S, SCALE, SpecJudge
from fencepost.ci.bench.mutation.tla.modules import read_folder
from fencepost.ci.bench.mutation.tla.tla_edits import edits_of
from fencepost.spec.tlc.models import MODULES, Tier, load_models, select

REASONS = FOLDER / "specs.toml"


def main(arguments: Sequence[str]) -> int:
    """Draw edits, judge them, tell the score; 0 when the goal is reached, else 1."""
    parser = parser_of("fencepost.ci.bench.mutation.specs", __doc__)
    parser.add_argument("--operator", action="append", default=[], help="only edits of these")
    parser.add_argument("--nightly", action="store_true", help="also the rows of the night")
    parser.add_argument("--unlisted", action="store_true", help="leave out those with a reason")
    parser.add_argument("--budget", type=float, default=EDIT_BUDGET_S, help="seconds per edit")
    given = parser.parse_args(arguments)
    modules = read_folder(MODULES)
    tier = Tier.NIGHTLY if given.nightly else Tier.PULL_REQUEST
    rows = rows_of(modules, select(load_models(), tier=tier))
    edits = [
        edit
        for edit in edits_of(modules, protocol_of(rows))
        if (not given.module or edit.module in given.module)
        and (not given.operator or edit.operator in given.operator)
    ]
    if not edits:
        parser.error(f"no edit is in {', '.join([*given.module, *given.operator])}")
    reasons = read_reasons(REASONS)
    drawn = sample(edits, given.count, given.seed, given.each)
    kept: tuple[Scored, ...] = ()
    if given.again is not None:
        drawn, kept = left_of(SCALE, read_results(given.again), edits)
    if given.unlisted:
        drawn = tuple(edit for edit in drawn if not reasons.of_any(edit))
    if given.list:
        return list_edits(drawn)
    judged = JudgedEdits(scale=SCALE, drawn=drawn_by(given), path=given.results, scored=list(kept))
    judge = SpecJudge(modules=modules, rows=rows, reasons=reasons, budget_s=given.budget)
    judge.all(drawn, given.jobs, judged.add)
    return judged.finish(is_json=given.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
