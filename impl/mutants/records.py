"""All mutants, each with the requirement that it breaks and the check that must catch it."""

from fencepost.impl.mutants.control import CONTROL_MUTANTS
from fencepost.impl.mutants.moves import MOVE_MUTANTS
from fencepost.impl.mutants.mutants import Mutant, MutantRecord
from fencepost.impl.mutants.replicas import REPLICA_MUTANTS

_ORDER = list(Mutant)

MUTANTS: tuple[MutantRecord, ...] = tuple(
    sorted(
        (*CONTROL_MUTANTS, *MOVE_MUTANTS, *REPLICA_MUTANTS),
        key=lambda record: _ORDER.index(record.mutant),
    )
)
"""In the order of their names in `Mutant`."""
