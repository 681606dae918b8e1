"""A new adapter answers what `probe` asks; what is wrong is quoted with what was expected."""

import shutil
import subprocess
from pathlib import Path

import pytest

from fencepost.ci import cli
from fencepost.ci.exit_codes import INCOMPLETE
from fencepost.conformance.adapters.remote.skeleton import Language, new_adapter
from fencepost.conformance.whitebox.zoo.animals import target_of
from tests.conformance.adapters.remote.plays import stranger

PROGRAMS = {Language.GO: ["go"], Language.JAVA: ["javac", "java"]}
BUILT_LONG = frozenset({Language.GO})
LANGUAGES = [
    pytest.param(one, marks=[pytest.mark.long] if one in BUILT_LONG else []) for one in Language
]
NEXT = "cluster_create comes next: the first verb that a run needs and the adapter lacks"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_adapter_answers_the_probe(
    language: Language, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if missing := [one for one in PROGRAMS.get(language, ()) if not shutil.which(one)]:
        pytest.skip(f"{missing[0]} is not on this machine: install it to run the skeleton")
    made = new_adapter(language, tmp_path / "new one")
    subprocess.run(["sh", "-c", made.build or "true"], check=True, timeout=300)

    assert cli.run(["conform", "probe", "--target", made.target]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("my-log 0.1 at level 2\ndeclares: nothing\n")
    assert NEXT in shown.err


def test_a_folder_that_is_there_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "adapter.py").write_text("mine")

    assert cli.run(["conform", "new-adapter", "--lang", "python", str(tmp_path)]) == 4
    assert f"{tmp_path} is there already; name a new folder" in capsys.readouterr().err
    assert (tmp_path / "adapter.py").read_text() == "mine"


def test_a_whole_adapter_answers_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["conform", "probe", "--target", stranger()]) == 0
    shown = capsys.readouterr()
    assert "all verbs are answered" in shown.err
    assert "high_watermarks  exact" in shown.out


def test_a_wrong_answer_is_quoted_with_what_was_expected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = target_of("bad_adapter", "wrong_observe")

    assert cli.run(["conform", "probe", "--target", target]) == INCOMPLETE
    shown = capsys.readouterr().out
    assert "the adapter answered observe with" in shown
    assert "expected were status ok and id, brokers, controller_id, " in shown
    assert "not asked" in shown
