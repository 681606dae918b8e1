"""What a mutant of a controller or of a fenced leader does: the observations of the kill table."""

from fencepost.impl.core.rules.controller.controller_election import ElectionStep, NodeView
from fencepost.impl.core.rules.controller.leadership import PartitionFacts
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.mutants.mutants import mutant_name, rules_of
from fencepost.spec.vocabulary import (
    NEWEST_LEVEL,
    NO_BROKER,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    Offset,
    SessionId,
    ZnodeVersion,
)
from tests.impl.core.build import T0, T1, state

ASSIGNED = (BrokerId(1), BrokerId(2))
EPOCH = ControllerEpoch(2)


def _rules(mutant: str | None) -> Rules:
    return rules_of(NEWEST_LEVEL, mutant_name(mutant) if mutant else None)


def read_first(mutant: str | None) -> int:
    """How many of two states a new controller reads before it acts."""
    return len(_rules(mutant).read_at_fail_over((T0, T1)))


def stands_beside_another(mutant: str | None) -> bool:
    """Whether a broker that has read another's name stands."""
    one, other = ASSIGNED
    node = NodeView(
        broker_id=one, session_id=SessionId(7), is_active=False, controller_id=NO_BROKER
    )
    return _rules(mutant).election_step(node, other) is ElectionStep.STAND


def isr_after_a_death(mutant: str | None) -> frozenset[BrokerId]:
    """The ISR of a partition when the follower dies and the leader does not."""
    before = state(1, 4, (1, 2))
    facts = PartitionFacts(
        key=T0,
        assigned_replicas=ASSIGNED,
        live={BrokerId(1)},
        bounced=frozenset({BrokerId(2)}),
        state=before,
        znode_version=ZnodeVersion(0),
    )
    decided = _rules(mutant).elect_leader(facts, EPOCH)
    return (decided[0] if decided else before).isr


def first_isr(mutant: str | None) -> frozenset[BrokerId]:
    """The first ISR of a partition with two live replicas."""
    facts = PartitionFacts(key=T0, assigned_replicas=ASSIGNED, live={*ASSIGNED})
    decided = _rules(mutant).init_leader(facts, EPOCH)
    assert decided is not None
    return decided[0].isr


def committed_when_fenced(mutant: str | None) -> int:
    """The high watermark of a leader that is its own ISR, has a record, and is fenced."""
    leader = Replica(
        broker_id=BrokerId(1),
        topic_partition=T0,
        role=Role.LEADER,
        leader=BrokerId(1),
        leader_epoch=LeaderEpoch(4),
        isr=frozenset({BrokerId(1)}),
        log_end_offset=Offset(1),
        is_fenced=True,
    )
    return _rules(mutant).advance_high_watermark(leader)[0].high_watermark


CASES = [
    ("act_before_reading", read_first, 2, 1),
    ("stand_after_reading_another", stands_beside_another, False, True),
    ("leave_isr_to_its_leader", isr_after_a_death, {1}, {1, 2}),
    ("first_leader_alone", first_isr, {1, 2}, {1}),
    ("fenced_leader_commits", committed_when_fenced, 0, 1),
]
