"""Deliberately wrong rules of the core, one each: what the checks must catch.

A mutant is active only when a `Config` names it; nothing reads the environment, and the broker
process has no flag for it (`tests/impl/core/test_mutants.py` holds this).
"""

from dataclasses import dataclass
from enum import StrEnum

from spec.vocabulary import Invariant


class Mutant(StrEnum):
    """The names that `fencepost simulate --mutant` takes."""

    NO_ZNODE_VERSION_CHECK = "no_znode_version_check"
    NO_STEP_DOWN = "no_step_down"
    ACKNOWLEDGE_BEFORE_REPLICATION = "acknowledge_before_replication"
    ACCEPT_OLDER_CONTROLLER_EPOCH = "accept_older_controller_epoch"
    HIGH_WATERMARK_FROM_LEADER_ALONE = "high_watermark_from_leader_alone"
    LEADER_EPOCH_NOT_RAISED = "leader_epoch_not_raised"


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantRecord:
    """What a mutant breaks and what must see it."""

    mutant: Mutant
    rule: str
    """The rule that it breaks, in one sentence."""
    requirement: str
    """Id in the catalogue."""
    caught_by: frozenset[Invariant]
    """At least one of these checks must fail."""


MUTANTS: tuple[MutantRecord, ...] = (
    MutantRecord(
        mutant=Mutant.NO_ZNODE_VERSION_CHECK,
        rule="Writes of LeaderAndISR are unconditional instead of tied to the version read.",
        requirement="ZK-003",
        caught_by=frozenset({Invariant.LINEARIZABLE_ZNODE, Invariant.ONLY_AUTHORISED_WRITES}),
    ),
    MutantRecord(
        mutant=Mutant.NO_STEP_DOWN,
        rule="A leader whose ISR write met another version leads on, with the ISR it wanted.",
        requirement="ISR-004",
        caught_by=frozenset(
            {
                Invariant.ONE_COMMITTER_PER_EPOCH,
                Invariant.ACKNOWLEDGED_DURABLE,
                Invariant.LINEARIZABLE_LOG,
                Invariant.LOG_MATCHING,
                Invariant.LEADER_COMPLETE,
            }
        ),
    ),
    MutantRecord(
        mutant=Mutant.ACKNOWLEDGE_BEFORE_REPLICATION,
        rule="A produce with acks=all is answered when the leader alone has it.",
        requirement="REPL-008",
        caught_by=frozenset({Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG}),
    ),
    MutantRecord(
        mutant=Mutant.ACCEPT_OLDER_CONTROLLER_EPOCH,
        rule="A command with a smaller controller epoch than already seen is obeyed.",
        requirement="CTL-006",
        caught_by=frozenset({Invariant.STALE_CONTROLLER_HARMLESS}),
    ),
    MutantRecord(
        mutant=Mutant.HIGH_WATERMARK_FROM_LEADER_ALONE,
        rule="The leader's high watermark is its own log end offset, not the minimum of the ISR.",
        requirement="REPL-002",
        caught_by=frozenset(
            {
                Invariant.ACKNOWLEDGED_DURABLE,
                Invariant.LEADER_COMPLETE,
                Invariant.LINEARIZABLE_LOG,
                Invariant.LOG_MATCHING,
            }
        ),
    ),
    MutantRecord(
        mutant=Mutant.LEADER_EPOCH_NOT_RAISED,
        rule="The controller publishes a new leader under the old leader epoch.",
        requirement="FAIL-004",
        caught_by=frozenset({Invariant.ONE_LEADER_PER_EPOCH, Invariant.ONLY_AUTHORISED_WRITES}),
    ),
)
