"""The loss by truncation to the high watermark, step by step on real processes (KIP-101, H17).

A record is committed and acknowledged while one follower, B, has it but has not yet learnt so: the
answers that would carry the newer high watermark are lost. The death of a third replica then makes
the controller publish a new epoch. B obeys, and at the levels below `leader-epoch` it truncates to
its high watermark: it forgets a committed record and stays in the ISR. When the leader dies too,
B is elected and the record is gone. Each step waits for what the step before it has caused.

In Python: one produce is under way while faults begin and end around it.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.transport import Answer
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import WHOLE_RUN_MS, Scenario
from fencepost.conformance.scenarios.records import produce_until_ok, require_ok
from fencepost.fault_injection.faults.process_faults import KillBroker
from fencepost.fault_injection.faults.request_faults import DropRequest, DropResponse
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.stories.story import ClientLoad, Story
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action
from fencepost.spec.znodes import TopicPartition

TOPIC = "ledger"
STEP_S = 15.0


def _play(stage: RunningCluster) -> None:
    follower = stage.controller()
    assert follower is not None
    leader, third = stage.others(follower)
    (partition,) = stage.create_topic(TOPIC, [[leader, follower, third]])
    client = stage.session.client("client-1")
    with ThreadPoolExecutor(1) as thread:
        require_ok(client.produce(partition, ["client-1/1/1"]), "the first record")
        _commit_behind_the_back(stage, client, thread, partition)
        _change_epoch(stage, partition, follower, third)
        _elect(stage, partition, leader, follower)
        produce_until_ok(stage, client, partition, "client-1/3", STEP_S)


def _commit_behind_the_back(
    stage: RunningCluster,
    client: RoutedClient,
    thread: ThreadPoolExecutor,
    partition: TopicPartition,
) -> None:
    """The second record is acknowledged; the follower has it and does not know that it counts."""
    leader, follower, third = stage.cluster.assignment(TOPIC)[0]
    engine = stage.engine
    no_fetch = DropRequest(
        method="Fetch",
        sender=broker(third),
        receiver=broker(leader),
        count=0,
        for_ms=WHOLE_RUN_MS,
    )
    blocked = engine.inject("hold-back-commit", no_fetch)
    engine.await_active(blocked)
    pending: Future[Answer] = thread.submit(
        client.produce, partition, ["client-1/2/1"], timeout_ms=int(STEP_S * 1000)
    )
    stage.await_event(
        leader,
        _is(Action.SERVE_FETCH, peer=f"broker-{follower}", offset=2),
        f"the fetch that shows that broker {follower} has the second record",
        deadline_s=STEP_S,
    )
    no_answer = DropResponse(
        method="Fetch",
        sender=broker(follower),
        receiver=broker(leader),
        count=0,
        for_ms=WHOLE_RUN_MS,
    )
    # Its first match means that no fetch of before is under way: nothing can tell the follower.
    engine.await_active(engine.inject("lose-answers", no_answer))
    engine.heal(blocked)
    require_ok(pending.result(), "the second record")


def _change_epoch(
    stage: RunningCluster, partition: TopicPartition, follower: int, third: int
) -> None:
    """The third replica dies, and the follower obeys the new epoch of the same leader."""
    before = stage.cluster.state_of(partition)
    assert before is not None
    stage.engine.inject("kill-third", KillBroker(target=broker(third), restart_after_ms=None))
    stage.await_event(
        follower,
        lambda event: (
            event.action == Action.BECOME_FOLLOWER
            and event.topic == TOPIC
            and (event.leader_epoch or 0) > before.leader_epoch
        ),
        f"the new epoch at broker {follower}",
        deadline_s=STEP_S,
    )


def _elect(stage: RunningCluster, partition: TopicPartition, leader: int, follower: int) -> None:
    """The leader dies, and the follower leads in its place."""
    if follower not in stage.isr_of(partition):
        raise ClusterError(f"broker {follower} left the ISR before it could be elected")
    stage.engine.inject("kill-leader", KillBroker(target=broker(leader), restart_after_ms=None))
    stage.cluster.await_state(
        lambda: stage.leader_of(partition) == follower,
        STEP_S,
        f"the election of broker {follower}",
        may_end=True,
    )


def _is(action: Action, *, peer: str, offset: int) -> Callable[[TraceEvent], bool]:
    return lambda event: (
        event.action == action
        and event.topic == TOPIC
        and event.peer == peer
        and (event.offset or 0) >= offset
    )


SCENARIO = Scenario(
    story=Story(
        story_id="truncation_loss",
        says="A follower that truncates to its high watermark loses an acknowledged record.",
        covers=("CMD-005", "REPL-004", "REPL-005", "CLI-004"),
        profile=ClientLoad.NONE,
        cluster={"replica_lag_ms": 60_000},
        fails_at=(0, 1),
    ),
    play=_play,
    has_own_orders=True,
)
