import os
import subprocess
import sys
from pathlib import Path

import pytest

from fencepost.ci import setup


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 14), (4, 0)])
def test_a_python_that_will_do_is_taken(version: tuple[int, int]) -> None:
    setup.check_python(version, "python")

    assert version >= setup.OLDEST


@pytest.mark.parametrize("version", [(3, 10), (3, 9), (2, 7)])
def test_an_old_python_is_told_so(version: tuple[int, int]) -> None:
    with pytest.raises(setup.SetupError, match=r"needs 3\.11 or newer; name another: make setup"):
        setup.check_python(version, "/usr/bin/python3")


def test_a_missing_module_is_named_with_what_to_do() -> None:
    with pytest.raises(setup.SetupError, match=r"lacks the module venv_of_no_one.*python3-venv"):
        setup.check_modules(("sys", "venv_of_no_one"))


def test_a_failing_step_says_which() -> None:
    with pytest.raises(setup.SetupError, match="counting sheep failed with exit code 7"):
        setup.run_step("counting sheep", [sys.executable, "-c", "raise SystemExit(7)"])


def test_failure_is_one_sentence_and_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(setup, "OLDEST", (99, 0))

    assert setup.main() == 3
    assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_is_no_traceback_and_leaves_nothing_that_make_takes_for_ready(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    def interrupted(doing: str, _: list[str]) -> None:
        raise KeyboardInterrupt(doing)

    monkeypatch.setattr(setup, "run_step", interrupted)

    assert setup.main() == 130
    assert capsys.readouterr().err == "setup: interrupted; the next one begins anew\n"
    assert not setup.READY.exists()


def test_setup_reads_on_an_older_python() -> None:
    """It must get as far as the sentence: no syntax newer than 3.8."""
    import ast

    source = Path(setup.__file__).read_text()

    assert ast.parse(source, feature_version=(3, 8)).body


def test_the_venv_is_not_made_by_the_python_inside_it() -> None:
    assert sys.prefix != sys.base_prefix  # these tests run in a venv

    assert not Path(setup.builder()).is_relative_to(sys.prefix)
    assert Path(setup.builder()).is_file()


def test_what_make_starts_keeps_its_modules_compiled() -> None:
    told = subprocess.run(
        ["make", "-s", "--eval", 'told: ; @echo "[$$PYTHONDONTWRITEBYTECODE]"', "told"],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert told.stdout == "[]\n"
