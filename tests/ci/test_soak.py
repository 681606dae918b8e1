"""A soak: its rounds, what it keeps, and how it goes on; rounds are real in `tests/chaos`."""

import json
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path

import msgspec
import pytest

from fencepost.ci.cli import run
from fencepost.ci.commands.chaos_soak import seconds_of
from fencepost.ci.gate.failures import UsageError as Misuse
from fencepost.ci.screens.soak_screen import Screen, clock
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.runs.scenario import Problem, ScenarioResult
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.runs.soak import (
    BUNDLES_MAX,
    ROUNDS,
    Soak,
    SoakPlan,
    SoakRound,
    Totals,
    begin,
    resume,
)
from fencepost.conformance.verdict import Verdict
from tests.conformance.scenario_results import scenario_result

TOY = "py:tests.conformance.toy:Toy"
PLAN = SoakPlan(duration_s=10.0, seed=5, level=2, stories=("random", "quiet"), zookeeper="embedded")


class Watched:
    """A watcher that remembers what it was told."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, str, int]] = []
        self.ended: list[SoakRound] = []

    def begin(self, number: int, scenario: str, seed: int, totals: Totals) -> None:
        assert totals.rounds == number - 1
        self.begun.append((number, scenario, seed))

    def end(self, round_: SoakRound, totals: Totals) -> None:
        assert totals.rounds == round_.number
        self.ended.append(round_)


@pytest.fixture(autouse=True)
def verdicts(monkeypatch: pytest.MonkeyPatch) -> list[Verdict | None]:
    """How the rounds end, in turn; None is Ctrl-C. Each leaves a trace of its own."""
    endings: list[Verdict | None] = [Verdict.PASS]
    turns: Iterator[int] = count()

    def play(one: ScenarioRun) -> ScenarioResult:
        one.folder.mkdir()
        (one.folder / "trace-harness.ndjson").write_text("{}\n" * 1000)
        verdict = endings[next(turns) % len(endings)]
        if verdict is None:
            raise KeyboardInterrupt
        failed = verdict is not Verdict.PASS
        problems = (Problem(verdict=verdict, sentence="it\nbroke"),) if failed else ()
        return scenario_result(
            one.scenario.name,
            verdict,
            seed=one.seed,
            problems=problems,
            acknowledged=7,
            seconds=2.0,
            reproduce=one.reproduce,
        )

    monkeypatch.setattr(ScenarioRun, "play", play)
    return endings


def soaked(soak: Soak) -> Watched:
    """The soak, on a clock that takes two seconds per round."""
    clock = count(0, 2)
    soak.now = lambda: float(next(clock))
    watched = Watched()
    soak.run(watched)
    return watched


def test_rounds_take_turns_until_the_time_is_over(tmp_path: Path) -> None:
    soak = begin(PLAN, tmp_path)

    watched = soaked(soak)

    assert watched.begun == [(1, "random", 5), (2, "quiet", 6), (3, "random", 7), (4, "quiet", 8)]
    assert (soak.totals.rounds, soak.totals.acknowledged) == (4, 28)
    assert soak.totals.verdict is Verdict.PASS


def test_round_that_passes_leaves_a_line_and_one_that_does_not_its_folder(
    tmp_path: Path, verdicts: list[Verdict | None]
) -> None:
    verdicts[:] = [Verdict.PASS, Verdict.FAIL, Verdict.PASS, Verdict.INCONCLUSIVE]

    watched = soaked(begin(PLAN, tmp_path))

    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == [
        "round-00002",
        "round-00004",
    ]
    assert [one.bundle for one in watched.ended] == ["", "round-00002", "", "round-00004"]
    assert watched.ended[1].why == "it broke"
    assert watched.ended[1].reproduce == "fencepost chaos --story quiet --seed 6 --level 2"


def test_disk_and_memory_are_bounded_when_every_round_fails(
    tmp_path: Path, verdicts: list[Verdict | None]
) -> None:
    verdicts[:] = [Verdict.FAIL]
    soak = begin(msgspec.structs.replace(PLAN, duration_s=4.0 * BUNDLES_MAX), tmp_path)

    soaked(soak)

    kept = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert soak.totals.rounds > BUNDLES_MAX
    assert len(kept) == len(soak.totals.findings) == BUNDLES_MAX


def test_interrupted_soak_goes_on_with_the_round_that_it_had_begun(
    tmp_path: Path, verdicts: list[Verdict | None]
) -> None:
    verdicts[:] = [Verdict.PASS, None, Verdict.PASS]
    first = begin(PLAN, tmp_path)
    soaked(first)
    assert first.totals.is_interrupted
    assert first.totals.verdict is Verdict.PASS
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []

    verdicts[:] = [Verdict.PASS]
    watched = soaked(resume(tmp_path))

    assert [number for number, _, _ in watched.begun] == [2, 3, 4]
    assert resume(tmp_path).totals.rounds == 4


def test_line_that_a_kill_cut_off_is_dropped(tmp_path: Path) -> None:
    soaked(begin(PLAN, tmp_path))
    rounds = tmp_path / ROUNDS
    rounds.write_bytes(rounds.read_bytes()[:-20])

    soak = resume(tmp_path)
    assert soak.totals.rounds == 3
    soaked(soak)
    lines = rounds.read_bytes().splitlines()
    assert [msgspec.json.decode(line, type=SoakRound).number for line in lines] == [1, 2, 3, 4]


def test_folder_of_a_round_that_was_killed_is_played_anew(tmp_path: Path) -> None:
    (tmp_path / "round-00001").mkdir()

    assert len(soaked(begin(PLAN, tmp_path)).ended) == 4


def test_resumed_soak_may_be_given_more_time(tmp_path: Path) -> None:
    soaked(begin(PLAN, tmp_path))
    assert soaked(resume(tmp_path, 8.0)).begun == []

    assert soaked(resume(tmp_path, 20.0)).begun[0][0] == 5
    assert resume(tmp_path).plan.duration_s == 20.0


@pytest.mark.parametrize(("text", "told"), [(None, "holds no soak"), ("{", "is damaged")])
def test_folder_without_a_soak_is_refused(tmp_path: Path, text: str | None, told: str) -> None:
    if text is not None:
        (tmp_path / "soak.json").write_text(text)

    with pytest.raises(ChoiceError, match=told):
        resume(tmp_path)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1h", 3600)])
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "1", "h", "1.5h", "-1h", "0s", "8000h", "1 h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(Misuse):
        seconds_of(text)


def test_screen_shows_what_is_and_what_was() -> None:
    totals = Totals()
    finding = SoakRound(
        number=1,
        scenario="random",
        seed=5,
        verdict=Verdict.FAIL,
        why="LogMatching: Offset 1 differs.",
        seconds=2.0,
        faults=3,
        acknowledged=4,
        events=5,
        operations=6,
        unsettled=0,
        bundle="round-00001",
        reproduce="fencepost chaos",
    )
    totals.add(finding)
    screen = Screen(plan=PLAN)
    screen.end(finding, totals)
    screen.begin(2, "quiet", 6, totals)

    shown = dict(screen.lines())

    assert shown["now"].startswith("round 2: quiet, seed 6, for ")
    assert shown["rounds"] == "1: 1 FAIL"
    assert shown["found"] == "round-00001: LogMatching: Offset 1 differs."
    assert clock(3723) == "1:02:03"


def test_command_says_each_round_and_the_end(
    tmp_path: Path,
    verdicts: list[Verdict | None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = cycle([0.0, 0.0, 5.0])
    monkeypatch.setattr(Soak, "run", _with_clock(Soak.run, lambda: next(clock)))
    verdicts[:] = [Verdict.FAIL]

    assert run(["chaos", "--soak", "3s", "--seed", "5", "--out", str(tmp_path / "s")]) == 1

    told = capsys.readouterr()
    assert "soak: round 1 after 2 s: random seed 5: FAIL in 2 s" in told.err
    assert "again: fencepost chaos --story random --seed 5 --level 5" in told.out
    assert "FAIL: 1 round in 2 s (1 FAIL)" in told.out
    assert f"continue with: fencepost chaos --resume {tmp_path / 's'}" in told.out


@pytest.mark.parametrize(("ending", "code"), [(Verdict.PASS, 0), (Verdict.FAIL, 1)])
def test_soak_of_a_target_plays_it_in_each_sitting(
    ending: Verdict,
    code: int,
    tmp_path: Path,
    verdicts: list[Verdict | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = count()
    monkeypatch.setattr(Soak, "run", _with_clock(Soak.run, lambda: float(next(ticks))))
    verdicts[:] = [ending]
    played: list[str] = []

    def noted(one: ScenarioRun, play: object = ScenarioRun.play) -> ScenarioResult:
        played.append(one.settings.implementation.target)
        return play(one)  # type: ignore[operator, no-any-return]

    monkeypatch.setattr(ScenarioRun, "play", noted)
    out = tmp_path / "soak"

    asked = ["chaos", "--soak", "9s", "--target", TOY, "--story", "quiet", "--out", str(out)]
    assert run(asked) == code
    rounds = len(played)
    assert run(["chaos", "--resume", str(out), "--soak", "90s"]) == code

    assert len(played) > rounds > 0
    assert set(played) == {TOY}
    told = json.loads((out / "verdict.json").read_text())
    assert (told["target"], told["exit_code"]) == (TOY, code)
    assert f"--target {TOY}" in told["reproduce"]


def test_report_of_a_soak_tells_all_sittings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    soaked(begin(PLAN, tmp_path))
    with (tmp_path / ROUNDS).open("ab") as file:
        file.write(b'{"number":')
    before = (tmp_path / ROUNDS).read_bytes()

    assert run(["report", str(tmp_path)]) == 0

    assert "PASS: 4 rounds in 8 s (4 PASS)" in capsys.readouterr().out
    assert (tmp_path / ROUNDS).read_bytes() == before


def test_soak_that_is_at_work_is_not_resumed(tmp_path: Path) -> None:
    soak = begin(PLAN, tmp_path)
    times = count(0, 6)
    soak.now = lambda: float(next(times))
    refused: list[str] = []

    class Second(Watched):
        def begin(self, number: int, scenario: str, seed: int, totals: Totals) -> None:
            with pytest.raises(ChoiceError, match="is at work in another process") as caught:
                resume(tmp_path).run(Watched())
            refused.append(str(caught.value))
            super().begin(number, scenario, seed, totals)

    soak.run(Second())

    assert refused


def _with_clock(soak_run: object, now: object) -> object:
    def run_with_clock(soak: Soak, watcher: object) -> Totals:
        soak.now = now  # type: ignore[assignment]
        return soak_run(soak, watcher)  # type: ignore[operator, no-any-return]

    return run_with_clock
