"""The programs of `docs/adapters.md` do what the page says."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from fencepost.conformance.adapters.remote.channels import AdapterError
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Invariant
from tests.conformance.adapters.remote.plays import ROOT, play, story

PAGE = (ROOT / "docs" / "adapters.md").read_text()
GREETER, CLUSTER = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def play_program(program: str, folder: Path) -> ScenarioResult:
    path = folder / "adapter.py"
    path.write_text(program)
    target = f"cmd:{shlex.join([sys.executable, str(path)])}"
    return play(target, story("brief_kill"), folder)


def test_an_empty_program_ends_in_hello(tmp_path: Path) -> None:
    told = "ADAPTER_CRASH: the adapter ended with status 0 in hello"

    assert told in PAGE
    with pytest.raises(AdapterError, match=told):
        play_program("", tmp_path)


def test_a_program_that_only_greets_has_no_cluster(tmp_path: Path) -> None:
    result = play_program(GREETER, tmp_path)

    assert result.verdict is Verdict.ERROR
    assert f"\n{result.why}\n" in PAGE


def test_the_program_of_the_page_passes(tmp_path: Path) -> None:
    assert play_program(CLUSTER, tmp_path).verdict is Verdict.PASS


def test_it_fails_when_it_keeps_no_values(tmp_path: Path) -> None:
    forgetful = CLUSTER.replace('one["log"] += call["values"]', "pass")

    assert forgetful != CLUSTER
    result = play_program(forgetful, tmp_path)
    violated = {check.invariant for check in result.checks if check.violations}
    assert result.verdict is Verdict.FAIL
    assert violated & {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG}
