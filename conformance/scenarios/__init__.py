"""The chaos scenarios, in the order in which they are run."""

from fencepost.conformance.adapters.adapter import ChoiceError
from fencepost.conformance.runs.directed import shipped
from fencepost.conformance.runs.scenario import Scenario
from fencepost.conformance.scenarios import (
    administration,
    broker_faults,
    ensemble,
    links,
    reassignment,
    rpc_faults,
    stale_command,
    topic_recreated,
    truncation_loss,
    unreplicated_record,
)

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        *broker_faults.SCENARIOS,
        rpc_faults.SCENARIO,
        stale_command.SCENARIO,
        reassignment.SCENARIO,
        topic_recreated.SCENARIO,
        truncation_loss.SCENARIO,
        ensemble.SCENARIO,
        *links.SCENARIOS,
        unreplicated_record.SCENARIO,
        *administration.SCENARIOS,
        broker_faults.RANDOM,
        *shipped(),
    )
}


def find(name: str) -> Scenario:
    """The scenario of that name; raises `ChoiceError`."""
    if name not in SCENARIOS:
        raise ChoiceError(f"unknown scenario {name!r}; choose one of {', '.join(SCENARIOS)}")
    return SCENARIOS[name]
