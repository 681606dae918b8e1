"""`fencepost bugs`: from the number of an issue to all that shows the same."""

import json
import shlex

import pytest

from fencepost.ci.cli import run
from fencepost.conformance.bugs.archive import bugs, find_bug
from fencepost.spec.tlc.models import load_models

LABELS = ("counterexample", "simulated", "for real")
MODELS = {model.name: model for model in load_models()}


@pytest.fixture
def commands(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The commands that `explain` prints of the bug that the test names, by their label."""
    assert run(["bugs", "explain", request.node.callspec.params["name"]]) == 0
    told = (line.partition(": ") for line in capsys.readouterr().out.splitlines())
    return {label: command for label, _, command in told if label in LABELS}


def test_a_bug_leads_to_its_hazard_its_mutant_and_its_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["bugs", "explain", "KAFKA-7128"]) == 0
    told = capsys.readouterr().out

    assert "shows on kafka:1.1.1 (" in told
    assert "fencepost check expand_below_epoch_start --out counterexamples" in told
    assert "fencepost simulate --steps expand_below_epoch_start" in told
    assert "fencepost bugs run KAFKA-7128 -t kafka:1.1.1" in told
    assert "id: kafka_7128" in told


@pytest.mark.parametrize("name", bugs())
def test_what_does_not_lead_on_is_explained(name: str, commands: dict[str, str]) -> None:
    is_linked = {"counterexample", "simulated"} <= commands.keys()

    assert bool(find_bug(name).unlinked) is not is_linked
    assert ("for real" in commands) is bool(find_bug(name).shows_on)


@pytest.mark.parametrize("name", bugs())
def test_each_command_that_is_told_shows_the_bug(
    name: str, commands: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its models are checked by `make models`, its real run by `tests/kafka`."""
    if command := commands.get("counterexample"):
        start, end = "fencepost check ", " --out counterexamples"
        rows = command.removeprefix(start).removesuffix(end).split()
        assert command == start + " ".join(rows) + end
        assert all(MODELS[row].invariant for row in rows)
    if command := commands.get("simulated"):
        assert run(shlex.split(command)[1:]) == 1
        assert "FAIL" in capsys.readouterr().out
    if target := find_bug(name).shows_on[:1]:
        assert commands["for real"] == f"fencepost bugs run {name} -t {target[0]}"


def test_bugs_are_told_as_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bugs", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["bugs"]
    assert run(["bugs", "explain", "KIP-101", "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == listed[0]
    assert [bug["id"] for bug in listed] == [*bugs()]
