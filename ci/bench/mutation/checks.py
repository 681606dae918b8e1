"""Whether a change of the checks that was not foreseen is noticed by their own tests.

Run `python -m fencepost.ci.bench.mutation.checks`.

One guard, comparison, operand, number or keyword is changed at a time, in a copy of
`conformance/checks`, and the tests of the checks are run on it: first the files that name the
edited module or its invariant, and what they miss is shown to the others. The exit code is 1 when
fewer edits than the goal are killed; `checks.toml` lists those that change nothing, with reasons.
"""

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from fencepost.ci.bench.mutation.python.core_scores import failing_test, judged
from fencepost.ci.bench.mutation.python.python_edits import PythonEdit
from fencepost.ci.bench.mutation.python.python_mutator import Judge, PythonMutator
from fencepost.ci.bench.mutation.python.scratch_tree import ROOT
from fencepost.ci.bench.mutation.reasons import FOLDER, NO_REASONS, Reasons, read_reasons
from fencepost.ci.bench.mutation.score import Goal, Scale, Scored

REASONS = FOLDER / "checks.toml"
PACKAGE = "conformance/checks"
TESTS = "tests/conformance/checks"
KILLED = "killed by a test"
SURVIVED = "nothing notices"
SCALE = Scale(
    title="edits of the checks",
    outcomes=(KILLED, SURVIVED),
    without_count=frozenset(),
    goals=(Goal(outcomes=(KILLED,), share=0.9, name="killed by the tests of the checks"),),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckJudge:
    """Judges edits of the checks, each in a tree of its own."""

    reasons: Reasons = NO_REASONS

    def one(self, edit: PythonEdit) -> Scored:
        """What becomes of an edit."""
        return judged(edit, PACKAGE, self.reasons, self.played)

    def played(self, edit: PythonEdit, tree: Path) -> tuple[str, str]:
        """Outcome, and the test that fails."""
        for files in filter(None, files_for(edit.module)):
            if test := failing_test(files, tree):
                return KILLED, test
        return SURVIVED, ""


def files_for(module: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tests of the checks: those that name the module or its invariant, and the others."""
    name = Path(module).stem
    named = re.compile(rf"\b({name}|{name.upper()})\b")
    files: tuple[list[str], list[str]] = [], []
    for path in sorted((ROOT / TESTS).rglob("test_*.py")):
        files[not named.search(path.read_text())].append(path.relative_to(ROOT).as_posix())
    return tuple(files[0]), tuple(files[1])


def judge(_: argparse.Namespace) -> Judge:
    """What says what becomes of an edit."""
    return CheckJudge(reasons=read_reasons(REASONS)).one


MUTATOR = PythonMutator(
    program="fencepost.ci.bench.mutation.checks",
    description=__doc__,
    package=PACKAGE,
    scale=SCALE,
    judge=judge,
)

if __name__ == "__main__":
    sys.exit(MUTATOR.run(sys.argv[1:]))
