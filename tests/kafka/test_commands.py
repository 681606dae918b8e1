"""What releases answer to commands with older epochs, and that these change nothing.

`pytest -m kafka`. Source: `KafkaApis.scala` and `ReplicaManager.scala` of the releases.
"""

from pathlib import Path

import pytest

from fencepost.conformance.adapters.kafka.releases import find_target
from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.chaos import run_all
from fencepost.conformance.runs.scenario import Scenario
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.stories.story_file import story_from_text

pytestmark = pytest.mark.kafka

OLD_CONTROLLER, OLD_BROKER = "STALE_CONTROLLER_EPOCH", "STALE_BROKER_EPOCH"
OLD_LEADER, FENCED = "'t/0: STALE_CONTROLLER_EPOCH'", "'t/0: FENCED_LEADER_EPOCH'"
BEGINS = """schema: 1
id: older_epochs
profile: none
cluster: {first_controller: 3, session_timeout_ms: 3000, replica_lag_ms: 30000}
steps:
  - {create_topic: t, replicas: [1, 2, 3]}
  - {produce: t/0, records: [client-1/1/1], expected: ok offset=0}
  - {kill: 1}
  - {until: {leader(t/0): 2}, within_ms: 20000}
  - {until: {'leader_at(t/0,2)': 2, 'leader_at(t/0,3)': 2}}
  - {note: [version(t/0), controller_epoch]}
"""
ENDS = """
  - {must: {version(t/0): same, leader(t/0): 2, controller_epoch: same, 'answer_at(t/0,2)': ok}}
  - {must: {'leader_at(t/0,2)': 2, 'leader_at(t/0,3)': 2}}
  - {produce: t/0, records: [client-1/2/1], expected: ok offset=1}
"""


def answers_of(release: tuple[int, ...]) -> dict[str, str]:
    """The command -> what a broker of the release answers."""
    about = "partition: t/0"
    found = {
        f"LeaderAndIsr, to: 2, {about}, controller_epoch: current-1, leader: 3": OLD_CONTROLLER,
        f"LeaderAndIsr, to: 2, {about}, leader_epoch: current-1, leader: 3": OLD_LEADER,
        f"LeaderAndIsr, to: 2, {about}, leader: 3": OLD_LEADER,
        f"StopReplica, to: 3, {about}, controller_epoch: current-1, delete: true": OLD_CONTROLLER,
        f"UpdateMetadata, to: 3, {about}, controller_epoch: current-1, leader: 3": OLD_CONTROLLER,
        "ControlledShutdown, to: 2, shuts_down: 3": OLD_CONTROLLER,
    }
    if release >= (2, 2):  # KIP-380
        found |= {
            f"LeaderAndIsr, to: 2, {about}, broker_epoch: current-1, leader: 3": OLD_BROKER,
            f"StopReplica, to: 3, {about}, broker_epoch: current-1, delete: true": OLD_BROKER,
            f"UpdateMetadata, to: 3, {about}, broker_epoch: current-1, leader: 3": OLD_BROKER,
            "ControlledShutdown, to: 3, shuts_down: 2, broker_epoch: current-1": OLD_BROKER,
        }
    if release >= (2, 8):  # it names no topic id, as if the controller were an older release
        found[f"LeaderAndIsr, to: 2, {about}, leader: 3"] = "ok"
    if release >= (2, 6):  # KIP-570
        found[f"StopReplica, to: 3, {about}, leader_epoch: 0, delete: true"] = FENCED
    return found


@pytest.mark.parametrize("target", ["kafka:0.10.2.2", "kafka:2.3.1", "kafka:3.9.1"])
def test_commands_with_older_epochs_are_refused_by_name(target: str, tmp_path: Path) -> None:
    answers = answers_of(find_target(target).release.number).items()
    steps = "\n".join(f"  - {{control: {step}, expected: {code}}}" for step, code in answers)
    scenario = Scenario(story=story_from_text(BEGINS + steps + ENDS))
    settings = ClusterSettings(implementation=implementation_of(target))

    (result,) = run_all([scenario], settings=settings, seed=1, out=tmp_path)

    assert result.verdict is Verdict.PASS, result.problems
