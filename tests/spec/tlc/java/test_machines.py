"""A Java that has checked models finds of the next one what a new Java finds."""

from dataclasses import replace
from pathlib import Path

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError

from fencepost.spec.tlc.compare import ModelResult
from fencepost.spec.tlc.java.installation import Tlc, find_tlc
from fencepost.spec.tlc.java.machine import Machine
from fencepost.spec.tlc.java.machines import Machines
from fencepost.spec.tlc.java.statics import Statics
from fencepost.spec.tlc.models import Model, ModelVerdict, load_models, select
from fencepost.spec.tlc.runner import TlcOptions, check_model
from tests.spec.tlc.counter_model import CONFIG, write_counter

pytestmark = pytest.mark.tlc

FRESH = TlcOptions(use_cache=False)
ROWS = ("no_election_on_arrival", "trust_unsettled_write", "zookeeper_session_closed")
"""A lasso, a shortest counterexample, and one that holds; each knows other names."""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Machine]:
    """The machines that are started."""
    machines: list[Machine] = []
    start = Machine.started

    def remembered(*words: object, **more: object) -> Machine:
        machine = start(*words, **more)  # type: ignore[arg-type]
        machines.append(machine)
        return machine

    monkeypatch.setattr(Machine, "started", remembered)
    return machines


def found(result: ModelResult) -> ModelResult:
    return replace(result, seconds=0.0)


def checked(models: tuple[Model, ...]) -> list[ModelResult]:
    """Of models that one Java checks in turn."""
    with Machines() as machines:
        return [found(check_model(model, options=FRESH, machines=machines)) for model in models]


@pytest.mark.long
def test_a_used_java_finds_the_same_states_counts_and_counterexamples(
    started: list[Machine],
) -> None:
    models = select(load_models(), ROWS)
    alone = [found(check_model(model, options=FRESH)) for model in models]
    assert alone[0].counterexample is not None
    assert alone[0].counterexample.back_to is not None
    assert len(started) == len(models)

    assert checked((*models, *reversed(models))) == [*alone, *reversed(alone)]

    assert len(started) == len(models) + 1


@pytest.mark.long
def test_what_a_run_leaves_behind_would_change_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    models = select(load_models(), ROWS)
    assert all(result.agrees for result in checked(models))

    monkeypatch.setattr(Statics, "restore", lambda _: None)

    assert not all(result.agrees for result in checked(models))


def test_a_java_that_met_an_error_or_its_end_is_not_used_again(
    tmp_path: Path, started: list[Machine]
) -> None:
    counter = write_counter(tmp_path / "right")
    wrong, endless = write_counter(tmp_path / "wrong"), write_counter(tmp_path / "endless")
    wrong.module_path.write_text(wrong.module_path.read_text().replace("x < 2", "x < )"))
    text = CONFIG.replace("NEXT Next", "NEXT Endless")
    (endless.directory / "Counter.cfg").write_text(text)

    results = checked((counter, wrong, counter, replace(endless, budget_s=2), counter, counter))

    assert [result.verdict for result in results] == [
        ModelVerdict.HOLDS,
        ModelVerdict.ERROR,
        ModelVerdict.HOLDS,
        ModelVerdict.NOT_EXHAUSTED,
        ModelVerdict.HOLDS,
        ModelVerdict.HOLDS,
    ]
    assert len(started) == 3
    assert all(machine.child.returncode is not None for machine in started)


def test_a_tlc_that_cannot_be_made_as_new_checks_one_model_in_a_java(
    tmp_path: Path, started: list[Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tlc, "is_reusable", property(lambda _: False))
    counter = write_counter(tmp_path / "modules")

    assert [result.agrees for result in checked((counter, counter))] == [True, True]
    assert len(started) == 2


def test_an_option_that_tlc_does_not_know_is_told(tmp_path: Path) -> None:
    counter = write_counter(tmp_path / "modules")

    result = check_model(counter, options=TlcOptions(tlc_options=("-nosuch",)))

    assert result.verdict is ModelVerdict.ERROR
    assert "-nosuch" in result.why


def test_a_java_takes_no_call_without_its_secret() -> None:
    with Machines() as machines, machines.one(find_tlc(), heap_mb=64, is_short=True) as machine:
        list(machine.run(["-h"], 60))
        port = machine.port
        stranger = JavaGateway(gateway_parameters=GatewayParameters(port=port))

        with pytest.raises(Py4JError):
            stranger.jvm.java.lang.System.exit(1)

        stranger.close()
        assert machine.child.poll() is None
