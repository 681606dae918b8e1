"""Which seeds `fencepost simulate` runs, and at which level the gate hunts mutants."""

from pathlib import Path

import pytest

from ci.cli import run
from ci.stages import simulate
from ci.tiers import Tier
from ci.verdict_files import GateRun
from conformance.simulate import MutantResult, SimulationResult
from conformance.verdict import Verdict

Asked = dict[str, object]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What the commands ask of the simulator, which answers at once."""
    asked: Asked = {}

    def run_seeds(seeds: range, *, level: int, **_: object) -> SimulationResult:
        asked.update(seeds=seeds, level=level)
        return SimulationResult(
            level=level,
            mutant=None,
            seeds=len(seeds),
            verdicts={Verdict.PASS: len(seeds)},
            premises={},
            failing=(),
            events=1,
            seconds=1.0,
        )

    def hunt_mutants(_: int, *, level: int, **__: object) -> tuple[MutantResult, ...]:
        asked.update(hunt_level=level)
        return ()

    monkeypatch.setattr("conformance.simulate.run_seeds", run_seeds)
    monkeypatch.setattr("conformance.simulate.hunt_mutants", hunt_mutants)
    return asked


@pytest.mark.parametrize(
    ("arguments", "seeds"),
    [
        ([], range(200)),
        (["--seed", "7"], range(7, 8)),
        (["--seed", "0"], range(1)),
        (["--seeds", "3"], range(3)),
        (["--seed", "7", "--seeds", "3"], range(7, 10)),
    ],
    ids=str,
)
def test_seeds_are_so_many_from_the_first_on(
    arguments: list[str], seeds: range, asked: Asked
) -> None:
    assert run(["simulate", *arguments]) == 0
    assert asked["seeds"] == seeds


def test_help_tells_both_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--help"]) == 0

    said = " ".join(capsys.readouterr().out.split())
    assert "default: 200, or 1 with --seed" in said
    assert "The first seed; alone, the only one." in said


def test_mutants_are_hunted_at_the_newest_level_and_the_summary_says_so(
    asked: Asked, tmp_path: Path
) -> None:
    gate = GateRun(
        folder=tmp_path, run_id="r", tier=Tier.QUICK, level=0, seed=0, zookeeper="embedded"
    )

    outcome = simulate(gate)

    assert (asked["level"], asked["hunt_level"]) == (0, 2)
    assert outcome.summary.endswith("0 of 0 mutants caught at level 2")
