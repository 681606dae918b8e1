"""An action that no row takes is found."""

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.spec.tlc.coverage import joined, measure
from fencepost.spec.tlc.java.output import TlcFinding
from fencepost.spec.tlc.models import ModelVerdict
from fencepost.spec.tlc.runner import TlcOptions
from tests.spec.tlc.counter_model import write_counter


@pytest.mark.tlc
def test_a_dead_action_is_found(tmp_path: Path) -> None:
    model = write_counter(tmp_path / "modules")
    text = model.module_path.read_text()
    actions = "Count == x' = (x + 1) % N\nJump(n) == x > n + 1 /\\ x' = n\nNext == \\/ Count\n"
    dead = "        \\/ \\E n \\in {1, 2} : Jump(n)\n"
    model.module_path.write_text(text.replace("Next == x' = Other!Following(x)\n", actions + dead))

    coverage = measure(
        [model, replace(model, name="more", constants={"N": 4})], options=TlcOptions()
    )
    alone = measure([model], options=TlcOptions())

    assert coverage.rows == {
        ("Counter", "Count"): {"counter", "more"},
        ("Counter", "Jump"): {"more"},
    }
    assert alone.dead() == [("Counter", "Jump")]


def test_a_row_without_verdict_decides_nothing(tmp_path: Path) -> None:
    model = write_counter(tmp_path / "modules")

    coverage = joined([model], [TlcFinding(verdict=ModelVerdict.NOT_EXHAUSTED)])

    assert coverage.undecided == {"counter": "ended as not_exhausted"}
