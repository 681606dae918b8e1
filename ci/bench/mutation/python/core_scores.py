"""What seeds with checks, stories, and unit tests say of an edited core, in this order."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic

from fencepost.ci.bench.mutation.edit import Edit
from fencepost.ci.bench.mutation.python.core_reach import PLAY, Reach
from fencepost.ci.bench.mutation.python.decisive import CORE
from fencepost.ci.bench.mutation.python.limited_run import Ended, run_limited
from fencepost.ci.bench.mutation.python.python_edits import PythonEdit
from fencepost.ci.bench.mutation.python.scratch_tree import ROOT, edited_tree, environment
from fencepost.ci.bench.mutation.reasons import NO_REASONS, Reasons
from fencepost.ci.bench.mutation.score import Goal, Scale, Scored

SEEDS = "killed by seeds and checks"
FAILS = "the simulator fails in a seed"
ENDLESS = "a seed does not end"
STORY = "killed by a story"
TEST = "killed by a unit test"
CHANGES = "seeds run otherwise, nothing notices"
NOTHING = "no seed runs otherwise, nothing notices"
UNREACHED = "decisive in no seed and no story"
BY_SEEDS = (SEEDS, FAILS, ENDLESS)
SCALE = Scale(
    title="edits of the core",
    outcomes=(*BY_SEEDS, STORY, TEST, CHANGES, NOTHING, UNREACHED),
    without_count=frozenset({UNREACHED}),
    goals=(
        Goal(outcomes=BY_SEEDS, share=0.8, name="killed by the gate's seeds and checks alone"),
        Goal(outcomes=(*BY_SEEDS, STORY), share=0.95, name="with stories"),
    ),
)
UNIT_TESTS = ("tests/impl/core",)
CPU_S_PER_SEED = 3
CPU_S_FOR_TESTS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreJudge:
    """Judges edits of the core, each in a tree of its own."""

    reach: Reach
    reasons: Reasons = NO_REASONS
    has_tests: bool = True
    """Whether what seeds and stories miss is shown to the unit tests."""
    seeds_max: int
    """So many of the seeds in which an edit is decisive are played, the best of the gate."""

    def one(self, edit: PythonEdit) -> Scored:
        """What becomes of an edit."""
        return judged(edit, CORE, self.reasons, self.played)

    def played(self, edit: PythonEdit, tree: Path) -> tuple[str, str]:
        """Outcome, and by what."""
        usual = dict(islice(self.reach.usual(edit).items(), self.seeds_max))
        stories = self.reach.stories_of(edit)
        if not usual and not stories:
            return UNREACHED, ""
        outcome, by = of_seeds(usual, tree)
        if outcome in BY_SEEDS:
            return outcome, by
        if noticed := of_stories(stories, tree):
            return STORY, noticed
        if self.has_tests and (test := failing_test(UNIT_TESTS, tree)):
            return TEST, test
        return (
            outcome,
            f"{by} of {len(usual)} seeds in which it is decisive, {len(stories)} stories",
        )


def judged(
    edit: PythonEdit,
    package: str,
    reasons: Reasons,
    play: Callable[[PythonEdit, Path], tuple[str, str]],
) -> Scored:
    """An edit with its outcome; one that is known to be equivalent is not played."""
    started = monotonic()
    equivalent = reasons.of_equivalent(edit)
    outcome, by = "", ""
    if not equivalent:
        with edited_tree(edit, package) as tree:
            outcome, by = play(edit, tree)
    return Scored(
        edit=edit,
        outcome=outcome,
        by=by,
        diff=diff_of(edit),
        equivalent=equivalent,
        harmless=reasons.of_harmless(edit),
        excuse=reasons.of_survivor(edit),
        seconds=monotonic() - started,
    )


def diff_of(edit: Edit) -> str:
    """The change of a Python module as `diff -u` shows it."""
    return edit.diff((ROOT / edit.module).read_text(), edit.module)


def of_seeds(usual: dict[str, str], tree: Path) -> tuple[str, str]:
    """How seeds end: noticed, run otherwise, or as usual; and by what, or how many."""
    if not usual:
        return NOTHING, "0"
    ended = play({"seeds": usual}, tree, cpu_s=CPU_S_PER_SEED * len(usual) + 10)
    if ended.is_endless:
        return ENDLESS, "a seed"
    if ended.code:
        return FAILS, ended.errors.strip().splitlines()[-1]
    answer = json.loads(ended.output)
    if answer["error"]:
        return FAILS, answer["noticed"]
    if answer["noticed"]:
        return SEEDS, answer["noticed"]
    changed = answer["changed"]
    return CHANGES if changed else NOTHING, f"the trace is another in {changed}"


def of_stories(stories: Sequence[str], tree: Path) -> str:
    """The first story that prints something else; empty when none does."""
    if not stories:
        return ""
    ended = play({"stories": list(stories)}, tree, cpu_s=CPU_S_PER_SEED * len(stories) + 10)
    if ended.is_endless:
        return "a story does not end"
    if ended.code:
        return ended.errors.strip().splitlines()[-1]
    return str(json.loads(ended.output)["noticed"])


def play(request: dict[str, object], tree: Path, *, cpu_s: int) -> Ended:
    """The answer to a request, from the core in a tree."""
    command = [sys.executable, "-m", PLAY, json.dumps(request)]
    return run_limited(command, cwd=tree, environment=environment(), cpu_s=cpu_s)


def failing_test(tests: Sequence[str], tree: Path) -> str:
    """The first unit test that fails in a tree; empty when none does."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    ended = run_limited(command, cwd=tree, environment=environment(), cpu_s=CPU_S_FOR_TESTS)
    if ended.code == 0:
        return ""
    if ended.is_endless:
        return "the tests do not end"
    lines = [*ended.errors.splitlines(), *ended.output.splitlines()]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    told = [*failed, *lines[-1:], "a test"][0].partition(" - ")[0]
    return told.removeprefix("FAILED ").removeprefix("ERROR ")
