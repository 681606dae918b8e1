"""The bench of shrinking: one mutant for real, and when its targets are missed."""

from dataclasses import replace

import pytest

from fencepost.ci.bench import shrinks

GOOD = shrinks.Shrink(
    mutant="no_step_down", seed=0, faults_before=8, faults=1, runs=20, seconds=2.0
)


@pytest.mark.long
def test_a_failing_run_becomes_small(capsys: pytest.CaptureFixture[str]) -> None:
    assert shrinks.main(["--only", "leader_epoch_not_raised", "--seeds", "1"]) == 0

    (row,) = [line for line in capsys.readouterr().out.splitlines() if "not_raised" in line]
    mutant, seed, before, left, runs, _ = row.split()
    assert (mutant, seed) == ("leader_epoch_not_raised", "0")
    assert int(left) < int(before)
    assert int(runs) > 1


def test_the_target_is_missed_by_many_faults_and_by_one_long_search() -> None:
    large = replace(GOOD, faults=shrinks.TARGET_FAULTS + 1)

    assert shrinks.is_enough([GOOD] * 9 + [large])
    assert not shrinks.is_enough([GOOD] * 8 + [large] * 2)
    assert not shrinks.is_enough([GOOD] * 9 + [replace(GOOD, seconds=121.0)])


def test_an_unknown_mutant_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        shrinks.main(["--only", "nothing_such"])

    assert "unknown mutant nothing_such" in capsys.readouterr().err
