"""Whether a change of the core that was not foreseen is noticed, and by what.

Run `python -m fencepost.ci.bench.mutation.core`.

One guard, comparison, operand, number or keyword of `replace()` is changed at a time, in a copy of
the package. The gate's seeds are played with it until a check sees something; what they miss is
shown to the stories, and what those miss to the unit tests. The exit code is 1 when fewer edits
than the goals are killed; `core.toml` lists those that change nothing, with reasons.
"""

import sys
from collections.abc import Sequence

from fencepost.ci.bench.mutation.edit import sample
from fencepost.ci.bench.mutation.python.core_reach import measured_reach
from fencepost.ci.bench.mutation.python.core_scores import PACKAGE, SCALE, CoreJudge, judge_all
from fencepost.ci.bench.mutation.python.python_edits import python_edits
from fencepost.ci.bench.mutation.python.scratch_tree import modules_of
from fencepost.ci.bench.mutation.reasons import FOLDER, read_reasons
from fencepost.ci.bench.mutation.score import finish, list_edits, parser_of

REASONS = FOLDER / "core.toml"


def main(arguments: Sequence[str]) -> int:
    """Draw edits, judge them, tell the score; 0 when the goals are reached, else 1."""
    parser = parser_of("fencepost.ci.bench.mutation.core", __doc__)
    parser.add_argument("--no-tests", action="store_true", help="leave the unit tests out")
    given = parser.parse_args(arguments)
    edits = [
        edit
        for name, text in modules_of(PACKAGE, given.module)
        for edit in python_edits(name, text)
    ]
    if not edits:
        parser.error(f"no edit is in {', '.join(given.module)}")
    drawn = sample(edits, given.count, given.seed)
    if given.list:
        return list_edits(drawn)
    judge = CoreJudge(
        reach=measured_reach(),
        reasons=read_reasons(REASONS),
        has_tests=not given.no_tests,
    )
    return finish(SCALE, judge_all(drawn, judge.one, given.jobs), given)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
