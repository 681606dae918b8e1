"""How a scenario ended, where a test is about what becomes of that."""

from typing import Any

from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.verdict import Verdict


def scenario_result(name: str, verdict: Verdict, **given: Any) -> ScenarioResult:  # noqa: ANN401
    """At level 2, of no requirement, and expected to pass, unless it is `given` otherwise."""
    usual: dict[str, Any] = {
        "sentence": "-",
        "requirements": (),
        "level": 2,
        "seed": 0,
        "run_id": "r",
        "expected": Verdict.PASS,
    }
    return ScenarioResult(name=name, verdict=verdict, **{**usual, **given})
