"""The workload of a run goes through the client that users run, and is judged as any other."""

from pathlib import Path

import pytest

from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.chaos import run_all
from fencepost.conformance.runs.run_folder import read_folder
from fencepost.conformance.scenarios import find
from fencepost.conformance.verdict import Verdict
from fencepost.spec.trace import Kind

pytestmark = pytest.mark.kafka
pytest.importorskip("confluent_kafka", reason="the package confluent-kafka is not installed")


@pytest.mark.parametrize("release", ["0.10.2.2", "3.9.1", "4.1.1"])
def test_librdkafka_outlives_a_leader_and_loses_nothing(release: str, tmp_path: Path) -> None:
    target = implementation_of(f"kafka:{release}+librdkafka")
    settings = ClusterSettings(implementation=target)

    (result,) = run_all([find("leader_kill")], settings=settings, seed=1, out=tmp_path)

    assert result.verdict is Verdict.PASS, result.problems
    events, _ = read_folder(tmp_path / result.folder, "client-*")
    fetched = [e for e in events if (e.kind, e.action) == (Kind.COMPLETE, "Fetch") and e.values]
    by_librdkafka = [event for event in fetched if event.high_watermark is None]
    assert by_librdkafka, "no record was read by it"
    assert {event.node for event in fetched} > {event.node for event in by_librdkafka}
