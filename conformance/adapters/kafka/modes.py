"""Which implementation runs a release: that of its mode."""

from collections.abc import Mapping

from fencepost.conformance.adapters.kafka.kafka import Kafka
from fencepost.conformance.adapters.kafka.kraft.implementation import KafkaInKraft
from fencepost.conformance.adapters.kafka.releases import find_target
from fencepost.conformance.adapters.kafka.with_zookeeper.implementation import KafkaWithZooKeeper

MODES: Mapping[str, type[Kafka]] = {"zookeeper": KafkaWithZooKeeper, "kraft": KafkaInKraft}


def kafka_of(text: str) -> Kafka:
    """The implementation that the text names, as `find_target` takes it; raises `ChoiceError`."""
    chosen = find_target(text)
    return MODES[chosen.release.mode](chosen=chosen)
