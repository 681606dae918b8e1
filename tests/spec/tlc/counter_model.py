"""A model of three states, for tests that need TLC and not a protocol."""

from pathlib import Path

from fencepost.spec.tlc.models import Model, ModelVerdict, Tier

COUNTER = """---- MODULE Counter ----
EXTENDS Integers
CONSTANT N
VARIABLE x
Other == INSTANCE Step
Init == x = 0
Next == x' = Other!Following(x)
Endless == x' = x + 1
Low == x < 2
====
"""
STEP = """---- MODULE Step ----
EXTENDS Integers
CONSTANT N
Following(n) == (n + 1) % N
====
"""
CONFIG = "CONSTANTS\n    N = 3\nINIT Init\nNEXT Next\n"


def write_counter(modules: Path) -> Model:
    """The model, its files below `modules`, beside a module that is not read."""
    modules.mkdir()
    (modules / "Counter.tla").write_text(COUNTER)
    (modules / "Step.tla").write_text(STEP)
    (modules / "Stranger.tla").write_text("---- MODULE Stranger ----\n====\n")
    (modules / "Counter.cfg").write_text(CONFIG)
    return Model(
        name="counter",
        module="Counter",
        config="Counter.cfg",
        constants={},
        tier=Tier.QUICK,
        expected=ModelVerdict.HOLDS,
        invariant=None,
        counterexample_states=None,
        distinct_states=3,
        budget_s=120,
        hazard="H0",
        shows="That it counts.",
        directory=modules,
    )
