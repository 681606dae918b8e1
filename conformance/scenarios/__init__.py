"""The chaos scenarios, in the order in which they are run."""

from conformance.adapter import UsageError
from conformance.directed import shipped
from conformance.scenario import Scenario
from conformance.scenarios import (
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
    """The scenario of that name; raises `UsageError`."""
    if name not in SCENARIOS:
        raise UsageError(f"unknown scenario {name!r}; choose one of {', '.join(SCENARIOS)}")
    return SCENARIOS[name]
