"""What the four users do is what the documents and the kit have; their times are a bench."""

import ast
import shutil
import sys
from pathlib import Path

import pytest

from fencepost.ci.bench import users
from fencepost.ci.bench.users import BENCHES, TARGETS_S, Desk, StepError, act, edit, example, probe

PYTHON = """#!/bin/sh
mkdir -p "$RUNNER_TEMP/fencepost/bin"
for name in python fencepost; do cp {folder}/$name "$RUNNER_TEMP/fencepost/bin"; done
"""
"""It makes an environment, and installs into one, in the same way."""
FENCEPOST = """#!/bin/sh
echo "$@" > called
exit 1
"""


def test_each_user_has_a_target() -> None:
    assert list(BENCHES) == list(TARGETS_S)
    assert list(TARGETS_S.values()) == [300, 180, 900, 300]


def test_the_first_test_of_the_page_is_the_developers() -> None:
    names = [one.name for one in ast.parse(example()).body if isinstance(one, ast.FunctionDef)]

    assert names[0] == users.FIRST_TEST


def test_the_edit_is_that_of_the_first_hour(tmp_path: Path) -> None:
    (tmp_path / users.RULE).parent.mkdir(parents=True)
    shutil.copy(users.ROOT / users.RULE, tmp_path / users.RULE)

    edit(tmp_path)

    assert users.WRONG in (tmp_path / users.RULE).read_text()
    assert users.RIGHT in (users.ROOT / "docs" / "first_hour.md").read_text()


@pytest.mark.long
def test_an_implementer_has_a_green_probe(tmp_path: Path) -> None:
    one = Desk(folder=tmp_path, path=[str(fencepost(tmp_path))])

    probe(one)

    assert list(one.seconds) == ["skeleton", "probe"]
    assert "probe" in one.measured("implementer", "x").parts


def fencepost(folder: Path) -> Path:
    """A folder with this tree's command."""
    places = folder / "bin"
    places.mkdir()
    line = f'PYTHONPATH={users.ROOT} exec {sys.executable} -m fencepost.ci "$@"'
    (places / "fencepost").write_text(f"#!/bin/sh\n{line}\n")
    (places / "fencepost").chmod(0o755)
    return places


def test_a_step_that_ends_otherwise_is_told_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(StepError, match=r"broken ended with 3, not 0:\nno disk"):
        Desk(folder=tmp_path).step("broken", "echo no disk; exit 3")


def test_the_home_is_empty_and_nothing_of_this_environment_is_on_the_path(tmp_path: Path) -> None:
    one = Desk(folder=tmp_path)

    told = one.step("look", 'ls -A "$HOME"; echo "$PATH:$PYTHONPATH"').splitlines()

    assert str(Path(sys.executable).parent) not in told[0].split(":")
    assert len(told) == 1


def test_the_steps_of_the_action_hand_on_what_they_leave(tmp_path: Path) -> None:
    """With a Python that installs a `fencepost` which only says how it was called, and fails."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "fencepost-1-py3-none-any.whl").touch()
    (places := tmp_path / "bin").mkdir()
    python = PYTHON.format(folder=places)
    for name, text in (("python3", python), ("python", python), ("fencepost", FENCEPOST)):
        (places / name).write_text(text)
        (places / name).chmod(0o755)
    one = Desk(folder=tmp_path, path=[str(places)])

    act(one, "simulate --seeds 10")

    assert list(one.seconds) == ["install", "run", "verdict"]
    called = (tmp_path / "called").read_text()
    assert called == "simulate --seeds 10 --out fencepost-run\n"
