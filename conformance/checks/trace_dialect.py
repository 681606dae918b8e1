"""What an implementation does otherwise than our texts, so far as checks must know it to be fair.

A run names its dialect in `RunStarted`; without a name it is `SPEC`. A dialect takes a demand back
that the implementation never promised; it never adds one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceDialect:
    """One family of implementations."""

    name: str
    tells_writes: bool = True
    """Brokers trace their own writes of LeaderAndISR; without it Z3 has nothing to settle."""
    raises_epoch_at_election: bool = True
    """The transaction that creates `/controller` also raises the controller epoch."""
    controller_changes_isr: bool = False
    """The controller writes a leader's wish for another ISR, under the epoch that there is."""
    keeps_last_isr: bool = True
    """A partition without a leader keeps its last ISR; else that may be empty then."""
    epochs_may_skip: bool = False
    """The next controller epoch may be more than one higher: an election may have failed."""
    leads_once_in_epoch: bool = True
    """A leader that restarts gets a new epoch; else it may lag behind in its former one."""
    orders_advances: bool = True
    """A broker's lines tell each move of a high watermark, in order; else only how far it got."""

    @property
    def differences(self) -> tuple[str, ...]:
        """What it takes back, one clause each."""
        names = (name for name in _CLAUSES if getattr(self, name) != getattr(SPEC, name))
        return tuple(_CLAUSES[name] for name in names)


_CLAUSES = MappingProxyType(
    {
        "tells_writes": "brokers do not tell of their own writes of LeaderAndISR",
        "raises_epoch_at_election": "the controller epoch is raised after /controller is created",
        "controller_changes_isr": "the controller writes the ISR that a leader asks for",
        "keeps_last_isr": "a partition without a leader may have an empty ISR",
        "leads_once_in_epoch": "a leader that restarts may lag behind in its former epoch",
    }
)
"""Field -> what it means that it is not as in our texts."""

SPEC = TraceDialect(name="spec")
UNTOLD_WRITES = TraceDialect(name="untold-writes", tells_writes=False)
"""Brokers that tell nothing of their elections and of their ISR, or not everything."""
KAFKA_2_1 = TraceDialect(
    name="kafka-2.1", tells_writes=False, leads_once_in_epoch=False, orders_advances=False
)
"""Kafka 2.1 to 2.6: leaders write the state themselves."""
KAFKA_0_10 = replace(KAFKA_2_1, name="kafka-0.10", raises_epoch_at_election=False)
"""Kafka up to 2.0: the epoch is raised after `/controller` is created (before KAFKA-6082)."""
KAFKA_2_7 = replace(KAFKA_2_1, name="kafka-2.7", controller_changes_isr=True)
"""Kafka from protocol 2.7 on: AlterPartition (KIP-497)."""
KAFKA_4_1 = replace(KAFKA_2_7, name="kafka-4.1", keeps_last_isr=False, epochs_may_skip=True)
"""Kafka from 4.1 on: a quorum, and eligible leaders apart from the ISR (KIP-966)."""

DIALECTS: Mapping[str, TraceDialect] = MappingProxyType(
    {one.name: one for one in (SPEC, UNTOLD_WRITES, KAFKA_0_10, KAFKA_2_1, KAFKA_2_7, KAFKA_4_1)}
)
"""By name, as `RunStarted` tells it."""


def dialect_of(told: Mapping[str, object]) -> TraceDialect:
    """The dialect of a run by the `detail` of its `RunStarted`; `SPEC` when it names none."""
    return DIALECTS.get(str(told.get("dialect", SPEC.name)), SPEC)
