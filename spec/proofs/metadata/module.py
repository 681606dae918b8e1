"""`LeaderAndIsr` as what is proved of it."""

from fencepost.spec.proofs.logic import Term, both
from fencepost.spec.proofs.metadata.decisions import DECISIONS
from fencepost.spec.proofs.metadata.invariant import METADATA
from fencepost.spec.proofs.metadata.leader_and_isr import LEADER_AND_ISR
from fencepost.spec.proofs.metadata.starts import starts_empty, starts_serving
from fencepost.spec.proofs.metadata.wrong_rules import WRONG_METADATA
from fencepost.spec.proofs.module import ProvedModule
from fencepost.spec.proofs.small import Size
from fencepost.spec.proofs.state import Shape, SpecState


def is_metadata_small(s: SpecState, size: Size) -> Term:
    """No more versions and epochs than fit, and at most three controllers so far."""
    return both(
        s.znodes.version <= size.newest,
        s.history.newest_epoch <= size.newest,
        s.znodes.controller_epoch >= 0,
        s.znodes.controller_epoch <= 3,
    )


LEADER_AND_ISR_MODULE = ProvedModule(
    name="LeaderAndIsr",
    shape=Shape(SpecState),
    starts=(starts_empty, starts_serving),
    actions=(*DECISIONS, *LEADER_AND_ISR),
    clauses=METADATA,
    is_small=is_metadata_small,
    wrong_rules=WRONG_METADATA,
)
