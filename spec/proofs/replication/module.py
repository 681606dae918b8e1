"""`Replication` as what is proved of it."""

from dataclasses import replace

import z3

from fencepost.spec.proofs.clauses import Clause
from fencepost.spec.proofs.logic import Sort, Term, both, either, implies, no
from fencepost.spec.proofs.metadata.module import LEADER_AND_ISR_MODULE, is_metadata_small
from fencepost.spec.proofs.module import Defined, Pool, ProvedModule
from fencepost.spec.proofs.replication.actions import REPLICATION, epoch_at
from fencepost.spec.proofs.replication.invariant import CLAUSES, IMPLIED, is_lost
from fencepost.spec.proofs.replication.joints import GIVEN, JOINTS
from fencepost.spec.proofs.replication.starts import starts_empty, starts_serving
from fencepost.spec.proofs.replication.steps import LEMMAS, STEPS
from fencepost.spec.proofs.replication.tables import ReplicationState
from fencepost.spec.proofs.replication.wrong_rules import WRONG_REPLICATION
from fencepost.spec.proofs.small import Size
from fencepost.spec.proofs.state import Shape

B, E, N, K = Sort.BROKER, Sort.EPOCH, Sort.OFFSET, Sort.COUNT


def with_choosable(s: ReplicationState) -> Defined:
    """A symbol for what is choosable, and a member that witnesses what is not."""
    broker, number = s.universe.sort(B), z3.IntSort()
    choosable = z3.Function("choosable", number, number, z3.BoolSort())
    witness = z3.Function("loser", number, number, broker)
    definitions = (
        Clause(
            name="NotChoosable",
            sorts=(E, K),
            claim=lambda t, d, n: either(choosable(d, n), is_lost(t, d, n, witness(d, n))),
        ),
        Clause(
            name="Choosable",
            sorts=(E, K, B),
            claim=lambda t, d, n, b: implies(choosable(d, n), no(is_lost(t, d, n, b))),
        ),
    )
    return replace(s, is_choosable=choosable), definitions


def cut_terms(s: ReplicationState, chosen: Pool) -> Pool:
    """Where logs end, and the epochs of what is there."""
    brokers, messages = chosen.get(B, []), chosen.get(Sort.MESSAGE, [])
    answers, offsets = chosen.get(Sort.ANSWER, []), chosen.get(N, [])
    lasts = [s.logs.end(b) - 1 for b in brokers]
    obeyed = [s.obedience.leader_epoch(b) for b in brokers]
    fetched = [s.epoch_logs.fetched(e, b) - 1 for e, b in zip(obeyed, brokers, strict=True)]
    return {
        E: [
            *obeyed,
            *(epoch_at(s, b, last) for b, last in zip(brokers, lasts, strict=True)),
            *(s.messages.leader_epoch(m) for m in messages),
            *(s.answers.leader_epoch(a) for a in answers),
            s.history.newest_epoch,
            s.commits.epoch,
        ],
        N: [*lasts, *fetched, *(one - 1 for one in offsets)],
        K: list(offsets),
        B: [s.replicas.leader(b) for b in brokers[:1]],
    }


def anchors(s: ReplicationState, chosen: Pool) -> tuple[Pool, ...]:
    """The epochs that brokers obey and that of the last commit; then what brokers asked for."""
    brokers = chosen.get(B, [])
    obeyed = [s.obedience.leader_epoch(b) for b in brokers]
    fetched = [s.epoch_logs.fetched(e, b) - 1 for e, b in zip(obeyed, brokers, strict=True)]
    return {E: [*obeyed, s.commits.epoch], K: list(chosen.get(N, []))}, {N: fetched}


def counts(s: ReplicationState, pool: Pool) -> Pool:
    """How many records were committed in the epochs; the last of so many."""
    committed = [s.epoch_logs.committed(e) for e in pool.get(E, [])]
    return {K: committed, N: [n - 1 for n in pool.get(K, [])]}


def is_small(s: ReplicationState, size: Size) -> Term:
    """No more records besides than fit into a log."""
    return both(
        is_metadata_small(s, size),
        s.every(B, lambda b: s.logs.end(b) <= size.log_end),
        s.every(E, lambda e: s.epoch_logs.end(e) <= size.log_end),
    )


REPLICATION_MODULE = ProvedModule(
    name="Replication",
    shape=Shape(ReplicationState),
    starts=(starts_empty, starts_serving),
    actions=REPLICATION,
    clauses=CLAUSES,
    implied=IMPLIED,
    steps=STEPS,
    is_small=is_small,
    wrong_rules=WRONG_REPLICATION,
    part=LEADER_AND_ISR_MODULE,
    given=GIVEN,
    joints=JOINTS,
    lemmas=LEMMAS,
    define=with_choosable,
    terms=cut_terms,
    anchors=anchors,
    counts=counts,
    has_hints=True,
)
