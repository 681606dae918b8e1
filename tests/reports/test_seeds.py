from dataclasses import replace

import pytest

from conformance.simulate import SimulationOptions, SimulationResult, run_seeds
from reports.errors import ReportError
from reports.seeds import on_spark

TARGET = "python:tests.conformance.fake_simulator"


def timeless(result: SimulationResult) -> SimulationResult:
    return replace(result, seconds=0.0)


@pytest.mark.usefixtures("spark")
def test_seeds_on_spark_give_the_same_result_as_here() -> None:
    here = SimulationOptions(target=TARGET)

    alone = run_seeds(range(90), level=0, jobs=1, options=here)
    spread = run_seeds(range(90), level=0, options=replace(here, spread=on_spark("local[2]")))

    assert repr(timeless(spread)) == repr(timeless(alone))
    assert spread.failing


@pytest.mark.usefixtures("spark")
def test_seeds_of_the_reference_are_the_same_on_spark() -> None:
    alone = run_seeds(range(2), level=2, jobs=1)
    spread = run_seeds(range(2), level=2, options=SimulationOptions(spread=on_spark("local[2]")))

    assert repr(timeless(spread)) == repr(timeless(alone))


@pytest.mark.usefixtures("spark")
def test_a_task_that_fails_is_told_in_one_sentence() -> None:
    broken = on_spark("local[2]")(_divide, [1, 0], jobs=2, chunk=1)

    with pytest.raises(ReportError, match=r"Spark could not run the seeds: .*"):
        list(broken)


def _divide(number: int) -> float:
    return 1 / number
