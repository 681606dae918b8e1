"""What a failing gate names, and the command that each line offers."""

from pathlib import Path

import pytest

from fencepost.ci.commands.gate import show_end
from fencepost.ci.gate.verdict_files import GateRun, StageRecord
from fencepost.ci.screens.broken import LINES_MAX, broken_lines, lines_of
from fencepost.conformance.verdict import Verdict
from fencepost.spec.tlc.models import Tier

SCENARIO = {
    "name": "kill",
    "verdict": "FAIL",
    "message": "LogMatching: Offset 3\ndiffers.",
    "reproduce": "fencepost chaos --story kill --seed 0 --level 2",
}
VIOLATION = {
    "seed": 4,
    "invariant": "LogMatching",
    "message": "Offset 3 differs.",
    "reproduce": "fencepost simulate --seed 4 --level 2",
}

REPLAY: dict[str, object] = {
    "run": "chaos/kill",
    "partition": "t/0",
    "verdict": "rejected",
    "why": "The spec has no such event.",
    "reproduce": "fencepost check --trace runs/r/chaos/kill",
}


def failing(**detail: list[dict[str, object]]) -> StageRecord:
    return StageRecord(stage="x", verdict=Verdict.FAIL, summary="it broke", detail=detail)


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (
            failing(scenarios=[dict(SCENARIO)]),
            "  scenario kill: FAIL: LogMatching: Offset 3 differs. — "
            "fencepost chaos --story kill --seed 0 --level 2",
        ),
        (
            failing(violations=[dict(VIOLATION)]),
            "  seed 4: LogMatching: Offset 3 differs. — fencepost simulate --seed 4 --level 2",
        ),
        (
            failing(models=[{"name": "small", "agrees": False, "why": "4 states, not 5"}]),
            "  model small: 4 states, not 5 — fencepost check small",
        ),
        (
            failing(mutants=[{"mutant": "m", "caught": False, "reproduce": "fencepost simulate"}]),
            "  mutant m: NOT caught — fencepost simulate",
        ),
        (
            failing(replays=[REPLAY | {"verdict": "accepted"}, REPLAY]),
            "  replay chaos/kill t/0: rejected: The spec has no such event. — "
            "fencepost check --trace runs/r/chaos/kill",
        ),
        (
            failing(replays=[REPLAY | {"partition": "", "verdict": "unreadable", "why": ""}]),
            "  replay chaos/kill: unreadable — fencepost check --trace runs/r/chaos/kill",
        ),
        (failing(broken=[{"what": "slow", "reproduce": ""}]), "  slow — all"),
        (failing(), "  x: it broke — all"),
    ],
)
def test_a_failing_stage_names_what_broke_and_how_to_see_it(record: StageRecord, line: str) -> None:
    assert broken_lines(record, "all") == [line]


def test_a_stage_that_is_fine_names_nothing() -> None:
    assert broken_lines(StageRecord(stage="x", verdict=Verdict.PASS), "all") == []


def test_lines_are_cut_and_the_cut_is_told_and_doubles_are_one() -> None:
    rows = [VIOLATION | {"seed": seed} for seed in (1, *range(9))]

    lines = lines_of({"violations": rows}, "all")

    assert len(lines) == LINES_MAX + 1
    assert lines[-1] == "  and 4 more"


def test_the_gate_prints_them_after_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = GateRun(
        folder=tmp_path, run_id="r", tier=Tier.QUICK, level=2, seed=0, zookeeper="embedded"
    )
    records = (StageRecord(stage="spec", verdict=Verdict.PASS), failing(scenarios=[dict(SCENARIO)]))

    assert show_end(run, records, as_json=False) == 1

    out = capsys.readouterr().out
    assert out.index("it broke") < out.index(str(SCENARIO["reproduce"])) < out.index("verdict FAIL")
