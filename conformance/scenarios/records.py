"""What directed scenarios do with single records."""

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.transport import Answer
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.spec.znodes import TopicPartition


def require_ok(answer: Answer, what: str) -> None:
    """Raise `ClusterError` unless the record was acknowledged."""
    if not answer.is_ok:
        raise ClusterError(f"{what} was not acknowledged: {answer.error_code}")


def produce_until_ok(
    stage: RunningCluster,
    client: RoutedClient,
    partition: TopicPartition,
    name: str,
    deadline_s: float,
) -> Answer:
    """The first produce of `<name>/<attempt>` that succeeds: a new leader may not know it yet."""
    answers: list[Answer] = []

    def produced() -> bool:
        attempt = len(answers) + 1
        answers.append(client.produce(partition, [f"{name}/{attempt}"]))
        return answers[-1].is_ok

    stage.cluster.await_state(produced, deadline_s, "a record under the new leader", may_end=True)
    return answers[-1]
