"""Which releases there are, and what brokers are told."""

import os
import re
import shutil
from pathlib import Path

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.implementation import Capability
from fencepost.conformance.adapters.kafka import jars, packages
from fencepost.conformance.adapters.kafka.kafka import Kafka
from fencepost.conformance.adapters.kafka.kraft.implementation import KafkaInKraft
from fencepost.conformance.adapters.kafka.maven import JarsError
from fencepost.conformance.adapters.kafka.modes import kafka_of
from fencepost.conformance.adapters.kafka.releases import find_target, releases
from fencepost.conformance.adapters.kafka.with_zookeeper.implementation import KafkaWithZooKeeper
from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.checks.observations import Fidelity, Observable
from fencepost.conformance.checks.trace_dialect import KAFKA_0_10, KAFKA_2_1, KAFKA_2_7
from fencepost.conformance.runs.run_settings import settings_of
from fencepost.spec.java import find_java


def test_every_release_has_a_lock_with_kafka_and_a_logger() -> None:
    for release in releases().values():
        names = jars.locked(release)
        assert any(one.startswith("kafka_2.") and release.version in one for one in names)
        loggers = ("slf4j-log4j12-", "slf4j-reload4j-")
        assert any(one.startswith(loggers) for one in names), release.version
        assert all(len(digest) == 64 for digest in names.values())


def test_jars_that_do_not_run_here_are_replaced() -> None:
    assert "zookeeper-3.4.10.jar" in jars.locked(releases()["2.3.1"])


def test_a_target_names_release_and_protocol() -> None:
    usual, old = find_target("kafka:3.9.1"), find_target("kafka:3.9.1@0.10.2")

    assert (usual.name, usual.properties) == ("kafka:3.9.1", {})
    assert old.name == "kafka:3.9.1@0.10.2"
    assert old.properties["inter.broker.protocol.version"] == "0.10.2"
    assert old.properties["log.message.format.version"] == "0.10.2"


def test_a_target_names_its_clients_and_its_folder() -> None:
    found = find_target("kafka:3.9.1@2.6+librdkafka=/opt/kafka+more")

    assert (found.protocol, found.client, found.folder) == ("2.6", "librdkafka", "/opt/kafka+more")
    assert found.name == "kafka:3.9.1@2.6+librdkafka"
    assert find_target(found.chosen_as) == found


@pytest.mark.parametrize(
    ("target", "module", "package"),
    [
        ("kafka:3.9.1", "kio", "kio"),
        ("kafka:3.9.1+librdkafka", "confluent_kafka", "confluent-kafka"),
    ],
)
def test_a_package_that_is_missing_is_named(
    target: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda name: None if name == module else object())

    with pytest.raises(ChoiceError) as error:
        implementation_of(target)

    assert f"needs the Python package {package}, which is not installed" in str(error.value)
    assert 'pip install "fencepost[kafka]"' in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kafka:3.9.2", "kafka:3.9.2 is no target; did you mean kafka:3.9.1?"),
        ("kafka:", "kafka: is no target; the releases are 0.10.1.1"),
        ("kafka:3.9.1+sarama", "sarama is no client; choose librdkafka"),
        ("kafka:3.9.1@1.0", "not run at protocol 1.0; choose of 3.9, 2.6, 0.10.2"),
    ],
)
def test_a_target_that_there_is_not_is_refused_in_a_sentence(text: str, says: str) -> None:
    with pytest.raises(ChoiceError) as error:
        implementation_of(text)

    assert says in str(error.value)


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("kafka:0.10.2.2", KAFKA_0_10),
        ("kafka:2.1.1", KAFKA_2_1),
        ("kafka:3.9.1@2.6", KAFKA_2_1),
        ("kafka:3.9.1", KAFKA_2_7),
    ],
)
def test_a_release_at_a_protocol_has_its_dialect(text: str, dialect: object) -> None:
    kafka = implementation_of(text)

    assert isinstance(kafka, Kafka)
    assert kafka.trace_dialect is dialect
    assert implementation_of(kafka.told["command"]) == kafka


def test_a_release_without_zookeeper_declares_and_observes_none() -> None:
    old, new = implementation_of("kafka:3.9.1"), implementation_of("kafka:4.1.1")

    assert isinstance(old, KafkaWithZooKeeper)
    assert isinstance(new, KafkaInKraft)
    commands = {Capability.CONTROL, Capability.UPDATE_METADATA, Capability.CONTROLLED_SHUTDOWN}
    of_old = {Capability.ZOOKEEPER, *commands}
    assert new.capabilities == old.capabilities - of_old | {Capability.PROMPT_DELETION}
    assert old.observes[Observable.STATE_WRITES] is Fidelity.EXACT
    assert new.observes[Observable.STATE_WRITES] is Fidelity.LOG


def test_another_jar_than_the_locked_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kafka-clients-3.9.1.jar").write_bytes(b"something else")

    with pytest.raises(JarsError, match=r"is not the jar with which Kafka 3\.9\.1 was tried"):
        jars.require_locked(releases()["3.9.1"], tmp_path, "fetch it again")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Maven repository with one jar, which the lock of 3.9.1 names, and an empty cache."""
    folder = tmp_path / "repository"
    jar = folder / "org" / "broker" / "1.0" / "broker-1.0.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"a broker")
    (tmp_path / "3.9.1.txt").write_text(jars.lock_lines(folder))
    monkeypatch.setattr(jars, "LOCKS", tmp_path)
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(jars.REPOSITORY, folder.as_uri())
    return folder


def test_jars_come_from_the_repository_that_is_named(repository: Path) -> None:
    (found,) = jars.class_path(find_target("kafka:3.9.1"))
    shutil.rmtree(repository)

    assert found.read_bytes() == b"a broker"
    assert jars.class_path(find_target("kafka:3.9.1")) == [found], "offline"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_repository_with_another_jar_or_none_leaves_nothing(
    repository: Path, *, is_there: bool, tmp_path: Path
) -> None:
    (jar,) = repository.rglob("*.jar")
    jar.unlink()
    if is_there:
        jar.write_bytes(b"another")

    says = r"broker-1.0.jar is not the jar" if is_there else r"/broker-1.0.jar cannot be fetched"
    with pytest.raises(JarsError, match=says):
        jars.class_path(find_target("kafka:3.9.1"))
    assert not list((tmp_path / "cache").rglob("*.jar"))


def test_without_maven_the_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(JarsError, match=r"no mvn on PATH .* kafka:3\.9\.1=FOLDER"):
        jars.class_path(find_target("kafka:3.9.1"))
    assert not list(tmp_path.rglob("*.jar"))


def test_maven_gets_the_java_that_is_used_and_its_last_words_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maven = tmp_path / "mvn"
    maven.write_text('#!/bin/sh\necho "the Java is in $JAVA_HOME" >&2\nexit 1\n')
    maven.chmod(0o755)
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    home = find_java().home
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", os.pathsep.join((str(tmp_path), os.environ["PATH"])))

    with pytest.raises(JarsError, match=re.escape(f"(the Java is in {home})")):
        jars.class_path(find_target("kafka:3.9.1"))


def test_an_unpacked_distribution_takes_the_place_of_the_jars(tmp_path: Path) -> None:
    kafka = kafka_of(f"kafka:3.9.1@2.6={tmp_path}")
    with pytest.raises(JarsError, match="has no libs"):
        jars.class_path(kafka.chosen)
    jar = tmp_path / "libs" / "kafka.jar"
    jar.parent.mkdir()
    jar.write_bytes(b"")

    assert jars.class_path(kafka.chosen) == [jar]
    assert kafka.name == "kafka:3.9.1@2.6"
    assert settings_of({}, kafka.told).implementation == kafka
    assert kafka.again.endswith(f"--target kafka:3.9.1@2.6={tmp_path}")
