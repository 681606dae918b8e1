import os
import signal
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


def test_the_package_that_is_built_is_locked_apart_and_nothing_is_lost() -> None:
    text = Path("requirements.lock").read_text()

    apart, others = setup.split_lock(text, setup.APART)

    assert apart.startswith(f"{setup.APART}==")
    assert "--hash=sha256:" in apart
    assert apart.count("==") == 1
    assert f"\n{setup.APART}==" not in others
    assert sorted((apart + others).splitlines()) == sorted(text.splitlines())


@pytest.fixture
def empty_venv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The working directory has a `.venv`, and nothing else."""
    monkeypatch.chdir(tmp_path)
    setup.VENV.mkdir()


@pytest.mark.usefixtures("empty_venv")
def test_a_package_that_cannot_be_built_is_named_and_nothing_goes_on() -> None:
    setup.LOCK.write_text(f"one==1\n{setup.APART}==2 \\\n    --hash=sha256:0\n")
    pip = [sys.executable, "-c", "import sys; raise SystemExit(5 if 'wheel' in sys.argv else 0)"]

    with pytest.raises(setup.SetupError, match=f"building {setup.APART} failed with exit code 5"):
        setup.install_locked(pip)


@pytest.mark.usefixtures("empty_venv")
def test_a_build_ends_when_the_others_cannot_be_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setup.LOCK.write_text(f"{setup.APART}==2\n")
    slow = "import sys, threading; threading.Event().wait() if 'wheel' in sys.argv else sys.exit(4)"
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def remembered(command: list[str], **options: bool) -> "subprocess.Popen[bytes]":
        started.append(popen(command, start_new_session=options["start_new_session"]))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", remembered)
    monkeypatch.setattr(subprocess, "call", lambda command: popen(command).wait())

    with pytest.raises(setup.SetupError, match="installing the locked packages"):
        setup.install_locked([sys.executable, "-c", slow])

    assert [child.returncode for child in started] == [-signal.SIGTERM]


def test_modules_are_compiled_but_for_tests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    packages = setup.VENV / "lib"
    (packages / "one" / "tests").mkdir(parents=True)
    for name in ("__init__.py", "wrong.py", "tests/__init__.py"):
        (packages / "one" / name).write_text("def" if "wrong" in name else "")

    setup.compile_modules(sys.executable)

    compiled = {path.parts[-3] for path in packages.rglob("*.pyc")}
    assert compiled == {"one"}


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
