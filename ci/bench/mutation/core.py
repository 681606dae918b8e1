"""Whether a change of the core that was not foreseen is noticed, and by what.

Run `python -m fencepost.ci.bench.mutation.core`.

One guard, comparison, operand, number or keyword of `replace()` is changed at a time, in a copy of
the package. The gate's seeds are played with it until a check sees something; what they miss is
shown to the stories, and what those miss to the unit tests. The exit code is 1 when fewer edits
than the goals are killed; `core.toml` lists those that change nothing, with reasons.
"""

import argparse
import sys

from fencepost.ci.bench.mutation.python.core_reach import measured_reach, story_files
from fencepost.ci.bench.mutation.python.core_scores import SCALE, CoreJudge
from fencepost.ci.bench.mutation.python.decisive import CORE
from fencepost.ci.bench.mutation.python.python_mutator import Judge, PythonMutator
from fencepost.ci.bench.mutation.reasons import FOLDER, read_reasons
from fencepost.ci.gate.seeds import all_chosen

REASONS = FOLDER / "core.toml"


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the core's mutator alone can be told."""
    parser.add_argument("--no-tests", action="store_true", help="leave the unit tests out")
    parser.add_argument(
        "--seeds", type=int, default=len(all_chosen()), help="at most so many for an edit"
    )


def judge(given: argparse.Namespace) -> Judge:
    """What says what becomes of an edit; measures first in which seeds and stories rules count."""
    return CoreJudge(
        reach=measured_reach(all_chosen(), story_files()),
        reasons=read_reasons(REASONS),
        has_tests=not given.no_tests,
        seeds_max=given.seeds,
    ).one


MUTATOR = PythonMutator(
    program="fencepost.ci.bench.mutation.core",
    description=__doc__,
    package=CORE,
    scale=SCALE,
    judge=judge,
    add_options=add_options,
)

if __name__ == "__main__":
    sys.exit(MUTATOR.run(sys.argv[1:]))
