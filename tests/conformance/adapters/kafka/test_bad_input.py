"""What a person is told when a release cannot be run here: one sentence, and nothing is left."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from fencepost.conformance.adapters import cluster
from fencepost.conformance.adapters.kafka.kraft.implementation import KafkaInKraft
from fencepost.conformance.adapters.kafka.modes import kafka_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario_run import run
from fencepost.conformance.scenarios import find
from fencepost.conformance.verdict import ExitCode, exit_code

SERVES_NOTHING = "sleep 60"
PORT_IN_USE = """\
echo '[2026-11-23 18:00:00,000] ERROR Exiting Kafka due to fatal exception during startup.'
echo 'KafkaException: Socket server failed to bind to 127.0.0.1:9092: Address already in use.'
exit 1"""


def java_that(home: Path, does: str, *, formats: str = "") -> None:
    """A `java` that does so when it is to be a node, and `formats` when it is the tool before."""
    executable = home / "bin" / "java"
    formats = formats or f"mkdir -p {home.parent}/run/metadata/broker-101"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        f"""#!/bin/sh
case "$*" in
*-version*) echo "    java.specification.version = 17"; echo "    java.home = {home}" ;;
*StorageTool*) {formats} ;;
*) {does} ;;
esac
""",
        encoding="utf-8",
    )
    executable.chmod(0o755)


def release(tmp_path: Path) -> KafkaInKraft:
    """A release in KRaft mode, with no jar worth the name."""
    jar = tmp_path / "kafka" / "libs" / "kafka.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"")
    found = kafka_of(f"kafka:4.1.1={tmp_path / 'kafka'}")
    assert isinstance(found, KafkaInKraft)
    return found


def said(kafka: KafkaInKraft, tmp_path: Path) -> str:
    """What the run says when it did not come to run; the run has an exit code of its own."""
    settings = ClusterSettings(implementation=kafka)
    result = run(find("quiet"), settings=settings, seed=1, folder=tmp_path / "run")
    assert exit_code([result.verdict]) is ExitCode.INCOMPLETE
    return result.problems[0].sentence


def test_without_java_a_person_is_told_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))

    sentence = said(release(tmp_path), tmp_path)

    assert sentence.startswith("Kafka 4.1.1 needs Java 17: JAVA_HOME is ")
    assert "does not run; set it to a Java 17 or newer" in sentence


def test_a_java_that_is_too_old_for_the_release_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_that(tmp_path / "jdk", SERVES_NOTHING)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    kafka = release(tmp_path)
    chosen = changed(kafka.chosen, release=changed(kafka.chosen.release, java=21))

    sentence = said(replace(kafka, chosen=chosen), tmp_path)

    assert sentence == (
        f"Kafka 4.1.1 needs Java 21 or newer, and {tmp_path}/jdk/bin/java is Java 17; "
        "set JAVA_HOME to a newer one"
    )


def test_a_port_in_use_is_in_the_last_lines_of_the_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_that(tmp_path / "jdk", PORT_IN_USE)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    sentence = said(release(tmp_path), tmp_path)

    assert "ended by itself before all brokers and a controller; it said last:" in sentence
    assert "failed to bind to 127.0.0.1:9092: Address already in use" in sentence


def test_a_broker_that_does_not_come_up_is_ended_with_its_last_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_that(tmp_path / "jdk", f"echo waiting for the quorum; {SERVES_NOTHING}")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setattr(cluster, "START_DEADLINE_S", 2.0)
    monkeypatch.setattr(cluster, "STOP_GRACE_S", 0.1)

    sentence = said(release(tmp_path), tmp_path)

    assert "all brokers and a controller did not come within 2 s; the brokers said" in sentence
    assert "waiting for the quorum" in sentence


def test_storage_that_cannot_be_formatted_is_told_before_a_node_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_that(tmp_path / "jdk", SERVES_NOTHING, formats="echo no space left; exit 1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    sentence = said(release(tmp_path), tmp_path)

    assert sentence == "the storage of a node could not be formatted: no space left"
