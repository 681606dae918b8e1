"""The programs of `docs/adapters.md` do what the page says."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from fencepost.ci import cli
from fencepost.ci.exit_codes import INCOMPLETE
from fencepost.conformance.adapters.remote.skeleton import Language, new_adapter
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Invariant
from tests.conformance.adapters.remote.plays import ROOT, play, story

PAGE = (ROOT / "docs" / "adapters.md").read_text()
(CLASS,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
KEEPS = 'one["log"] += call["values"]'


def target_of(folder: Path, program: str) -> str:
    """The skeleton with this in place of its class, or as it is."""
    new_adapter(Language.PYTHON, folder / "my-adapter")
    path = folder / "my-adapter" / "adapter.py"
    before, _, rest = path.read_text().partition("class Adapter:")
    if program:
        path.write_text(f"{before}{program}\n\n{rest[rest.index('def main') :]}")
    return f"cmd:{shlex.join([sys.executable, str(path)])}"


def play_program(program: str, folder: Path) -> ScenarioResult:
    return play(target_of(folder, program), story("brief_kill"), folder)


def test_a_new_adapter_has_no_cluster(tmp_path: Path) -> None:
    result = play_program("", tmp_path)

    assert result.verdict is Verdict.ERROR
    assert f"\n{result.why}\n" in PAGE


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ('"offset": offset', '"ofset": offset', "the adapter answered produce with"),
        (KEEPS, "pass", "answered []; expected was ['probe/1/1'], which was produced"),
    ],
)
def test_the_probe_tells_what_is_wrong(
    right: str, wrong: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert right in CLASS
    assert told in PAGE

    target = target_of(tmp_path, CLASS.replace(right, wrong))
    assert cli.run(["conform", "probe", "--target", target]) == INCOMPLETE
    assert told in capsys.readouterr().out


def test_the_program_of_the_page_passes(tmp_path: Path) -> None:
    assert play_program(CLASS, tmp_path).verdict is Verdict.PASS


def test_it_fails_when_it_keeps_no_values(tmp_path: Path) -> None:
    forgetful = CLASS.replace(KEEPS, "pass")

    result = play_program(forgetful, tmp_path)
    violated = {check.invariant for check in result.checks if check.violations}
    assert result.verdict is Verdict.FAIL
    assert violated & {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG}
