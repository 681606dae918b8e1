"""What the mutators of Python judge, and what they leave as it was judged before."""

import json
from pathlib import Path

import pytest

from fencepost.ci.bench.mutation import checks, core
from fencepost.ci.bench.mutation.python.python_edits import PythonEdit
from fencepost.ci.bench.mutation.python.python_mutator import PythonMutator
from fencepost.ci.bench.mutation.python.scratch_tree import ROOT
from fencepost.ci.bench.mutation.score import Scored

KILLED, SURVIVED = checks.KILLED, checks.SURVIVED


def test_what_was_killed_is_not_judged_again(tmp_path: Path) -> None:
    judged: list[str] = []
    outcomes = iter([KILLED, SURVIVED, SURVIVED, KILLED, KILLED])

    def judge(edit: PythonEdit) -> Scored:
        judged.append(edit.key)
        return Scored(edit=edit, outcome=next(outcomes))

    mutator = PythonMutator(
        program="mutator",
        description=None,
        package=checks.PACKAGE,
        scale=checks.SCALE,
        judge=lambda _: judge,
    )
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    one_job = ["--module", "evidence.py", "--module", "verdict", "--module", "log_history"]
    one_job += ["--jobs", "1"]
    mutator.run([*one_job, "--count", "3", "--results", str(first)])
    mutator.run([*one_job, "--again", str(first), "--results", str(second)])
    ended = {row["key"]: row["outcome"] for row in json.loads(second.read_text())["edits"]}

    assert sorted(judged[3:]) == sorted(judged[1:3])
    assert ended == dict.fromkeys(judged[:3], KILLED)


def test_the_tests_that_name_a_check_are_run_first_and_no_other_is_left_out() -> None:
    folder = ROOT / checks.TESTS
    all_files = {path.relative_to(ROOT).as_posix() for path in folder.rglob("test_*.py")}
    by_module, others = checks.files_for("conformance/checks/log_matching.py")

    assert {*by_module, *others} == all_files
    assert f"{checks.TESTS}/test_replica_checks.py" in by_module, "it names the invariant"
    assert f"{checks.TESTS}/test_ordering.py" in others


@pytest.mark.long(seconds=500)
@pytest.mark.parametrize(
    ("mutator", "arguments"), [(core.MUTATOR, ["--no-tests"]), (checks.MUTATOR, [])]
)
def test_of_a_sample_of_ten_enough_is_noticed(mutator: PythonMutator, arguments: list[str]) -> None:
    assert mutator.run(["--count", "10", "--seed", "14", *arguments]) == 0
