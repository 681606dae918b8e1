"""How a topic gets and loses partitions, as pure functions of what ZooKeeper holds (V3 H).

Actions of `spec/tla/Partitions.tla`. The topic znode says first what is to be, the request goes
last, and each step between follows from the two: a new controller goes on from there.
"""

from fencepost.impl.core.rules.controller.partition_change_step import ChangeFacts, Seen, Step
from fencepost.impl.core.rules.controller.partition_requests import PartitionRequest
from fencepost.impl.core.rules.controller.reassignment import Assignment
from fencepost.spec.vocabulary import Action
from fencepost.spec.znodes import TopicPartition


def add_partitions(facts: ChangeFacts, request: PartitionRequest) -> Step | None:
    """The topic names the partition, it gets a leader, and the request goes (PART-001).

    None while it waits for its leader, which `InitLeader` creates.
    """
    key, action = facts.key, Action.ADD_PARTITIONS
    if facts.named is None:
        assignment = Assignment(assigned=request.replicas)
        return Step(key=key, action=action, requests=(request.check(),), assignment=assignment)
    if facts.seen is None:
        return None
    return Step(key=key, action=action, requests=(request.end(),))


def remove_partitions(
    key: TopicPartition,
    request: PartitionRequest | None,
    named: Assignment | None,
    leaving: Assignment,
    seen: Seen | None,
    *,
    is_stopped: bool,
) -> Step | None:
    """Topic and state change in one multi, the stops are sent, the request goes (PART-002).

    `leaving` has the brokers that are still to be stopped. None while they are.
    """
    if named is not None and request is not None:
        gone = named.removing | set(named.assigned)
        return Step(
            key=key,
            action=Action.REMOVE_PARTITIONS,
            requests=(request.check(),),
            assignment=Assignment(assigned=(), removing=gone),
            is_removal=True,
            seen=seen,
        )
    if not is_stopped:
        return None
    return Step(
        key=key,
        action=Action.REMOVE_PARTITIONS,
        requests=(request.end(),) if request is not None else (),
        assignment=Assignment(assigned=()) if leaving.removing else None,
    )
