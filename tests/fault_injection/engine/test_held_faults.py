"""A fault that is held lasts until somebody heals it."""

from fencepost.fault_injection.faults.process_faults import PauseBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.stories.story import Story
from fencepost.spec.trace import Phase
from tests.fault_injection.engine.test_engine import Bench, pause


def test_held_fault_outlives_its_own_time_and_what_runs_meanwhile() -> None:
    bench = Bench()

    with bench.engine() as engine:
        held = engine.inject("held", PauseBroker(target=broker(1), for_ms=1), is_held=True)
        engine.await_active(held)
        engine.run(Story(seed=1, actions=(pause("meanwhile", 0, for_ms=500),)))
        assert bench.phases("held")[-1] is Phase.ACTIVE
        engine.heal(held)

    assert bench.log[-2:] == ["heal meanwhile", "heal held"]
    assert bench.phases("held")[-1] is Phase.HEALED


def test_held_fault_is_healed_with_all_others_at_the_end() -> None:
    bench = Bench()

    with bench.engine() as engine:
        engine.inject("held", PauseBroker(target=broker(1), for_ms=1), is_held=True)
        engine.heal_all()

    assert bench.phases("held")[-1] is Phase.HEALED
