"""How a topic gets and loses partitions, as pure functions of what ZooKeeper holds (V3 H).

Actions of `spec/tla/Partitions.tla`. The topic znode says first what is to be, the request goes
last, and each step between follows from the two: a new controller goes on from there.
"""

from fencepost.impl.core.rules.controller.partition_change_step import ChangeFacts, Step
from fencepost.impl.core.rules.controller.partition_requests import PartitionRequest
from fencepost.impl.core.rules.controller.reassignment import Assignment
from fencepost.impl.core.types.actions import action, action_of


@action
def add_partitions(facts: ChangeFacts, request: PartitionRequest) -> Step | None:
    """The topic names the partition, it gets a leader, and the request goes (PART-001).

    None while it waits for its leader, which `InitLeader` creates.
    """
    key, performed = facts.key, action_of(add_partitions)
    if facts.named is None:
        assignment = Assignment(assigned=request.replicas)
        return Step(key=key, action=performed, requests=(request.check(),), assignment=assignment)
    if facts.seen is None:
        return None
    return Step(key=key, action=performed, requests=(request.end(),))


@action
def remove_partitions(facts: ChangeFacts, request: PartitionRequest | None) -> Step:
    """Topic and state change in one multi, the stops are sent, the request goes (PART-002).

    The second step comes when the brokers have stopped.
    """
    key, performed, named = facts.key, action_of(remove_partitions), facts.named
    if named is not None:
        assert request is not None, "it was not begun"
        return Step(
            key=key,
            action=performed,
            requests=(request.check(),),
            assignment=Assignment(assigned=(), removing=named.removing | set(named.assigned)),
            is_removal=True,
            seen=facts.seen,
        )
    return Step(
        key=key,
        action=performed,
        requests=(request.end(),) if request is not None else (),
        assignment=Assignment(assigned=()),
    )
