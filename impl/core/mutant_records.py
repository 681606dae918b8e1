"""All mutants, each with the requirement that it breaks and the check that must catch it."""

from impl.core.mutants import Mutant, MutantRecord
from impl.core.mutants_of_control import CONTROL_MUTANTS
from impl.core.mutants_of_moves import MOVE_MUTANTS
from impl.core.mutants_of_replicas import REPLICA_MUTANTS

_ORDER = list(Mutant)

MUTANTS: tuple[MutantRecord, ...] = tuple(
    sorted(
        (*CONTROL_MUTANTS, *MOVE_MUTANTS, *REPLICA_MUTANTS),
        key=lambda record: _ORDER.index(record.mutant),
    )
)
"""In the order of their names in `Mutant`."""
