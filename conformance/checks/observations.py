"""What can be observed of an implementation, how faithfully, and what each check needs of it."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from fencepost.spec.vocabulary import Invariant


class Fidelity(StrEnum):
    """How events of one kind come to be known."""

    EXACT = "exact"
    """Told at the change itself, in order, every time."""
    SAMPLED = "sampled"
    """Asked for now and then: what changed and changed back between is not seen."""
    DISK = "disk"
    """Read from files after the run: the last value that was written down."""
    LOG = "log"
    """Read from logs after the run: in order, as complete as their lines or records."""
    NONE = "none"


class Observable(StrEnum):
    """A kind of events."""

    CLIENTS = "clients"
    """Requests of the harness's own clients; every run has these, exact."""
    STATE_WRITES = "state_writes"
    """Writes of the published state, by the transaction log of ZooKeeper, or of a quorum."""
    ELECTIONS = "elections"
    """Registrations, elections of controllers and of leaders, and their publication."""
    ROLES = "roles"
    """Commands that a broker obeys: it leads, follows, or stops."""
    APPENDS = "appends"
    """What each replica's log gains and loses."""
    HIGH_WATERMARKS = "high_watermarks"
    """Advances of a leader's high watermark."""
    ISR_CHANGES = "isr_changes"
    """What leaders make of their ISR, and how they write it."""


Observations = Mapping[Observable, Fidelity]
"""What is left out is not observed."""

EVERYTHING: Observations = MappingProxyType(dict.fromkeys(Observable, Fidelity.EXACT))
OF_CLIENTS: Observations = MappingProxyType({Observable.CLIENTS: Fidelity.EXACT})
OF_BROKERS = frozenset(Observable) - {Observable.CLIENTS, Observable.STATE_WRITES}
"""What only brokers know."""

_EXACT = frozenset({Fidelity.EXACT})
_IN_ORDER = _EXACT | {Fidelity.LOG}
_AT_ANY_TIME = _IN_ORDER | {Fidelity.SAMPLED}
"""A fact that never changes back, or that holds at each instant, is as true of a sample."""
_AT_THE_END = _EXACT | {Fidelity.DISK}
_NOT_SAMPLED = frozenset(Fidelity) - {Fidelity.SAMPLED}
"""It is decided without them too, but not by lines that miss what was undone."""

NEEDS: Mapping[Invariant, Mapping[Observable, frozenset[Fidelity]]] = MappingProxyType(
    {
        Invariant.LINEARIZABLE_LOG: {Observable.CLIENTS: _EXACT},
        Invariant.ACKNOWLEDGED_DURABLE: {Observable.CLIENTS: _EXACT},
        Invariant.LOG_MATCHING: {Observable.APPENDS: _AT_THE_END},
        # The length of a log is enough: a new leader tells where it ends.
        Invariant.LEADER_COMPLETE: {
            Observable.APPENDS: _NOT_SAMPLED,
            Observable.HIGH_WATERMARKS: _IN_ORDER,
            Observable.ROLES: _IN_ORDER,
        },
        # On one leader it only rises: samples that fall are a violation.
        Invariant.HIGH_WATERMARK_MONOTONIC: {Observable.HIGH_WATERMARKS: _AT_ANY_TIME},
        # The leader of an epoch never changes.
        Invariant.ONE_LEADER_PER_EPOCH: {Observable.ROLES: _AT_ANY_TIME},
        Invariant.ONE_COMMITTER_PER_EPOCH: {Observable.HIGH_WATERMARKS: _IN_ORDER},
        # Leader and ISR come in one line.
        Invariant.LEADER_IN_ISR: {Observable.ROLES: _AT_ANY_TIME},
        # What a broker obeys was published; where brokers tell of their writes, those count too.
        Invariant.LINEARIZABLE_ZNODE: {
            Observable.STATE_WRITES: _IN_ORDER,
            Observable.ROLES: _IN_ORDER,
        },
        Invariant.ONLY_AUTHORISED_WRITES: {
            Observable.STATE_WRITES: _IN_ORDER,
            Observable.ELECTIONS: _IN_ORDER,
        },
        Invariant.STALE_CONTROLLER_HARMLESS: {Observable.ROLES: _IN_ORDER},
        # Commands tell which incarnation they are for; what else names one is written.
        Invariant.STALE_INCARNATION_HARMLESS: {
            Observable.ROLES: _IN_ORDER,
            Observable.STATE_WRITES: _IN_ORDER,
        },
        # A controller's lines tell what it knows, and what it decides upon is written.
        Invariant.ONLY_ASKERS_SHUT_DOWN: {
            Observable.ELECTIONS: _IN_ORDER,
            Observable.STATE_WRITES: _IN_ORDER,
        },
        Invariant.INIT_NAMES_ALL: {
            Observable.ELECTIONS: _IN_ORDER,
            Observable.STATE_WRITES: _IN_ORDER,
        },
        # What clients were told of the configuration, and what ZooKeeper recorded.
        Invariant.LINEARIZABLE_CONFIG: {
            Observable.CLIENTS: _EXACT,
            Observable.STATE_WRITES: _IN_ORDER,
        },
        Invariant.FORWARDED_ONCE: {Observable.ELECTIONS: _AT_ANY_TIME},
        Invariant.PRINCIPAL_KEPT: {Observable.ELECTIONS: _AT_ANY_TIME},
        Invariant.ONLY_CONTROLLER_WRITES: {Observable.STATE_WRITES: _IN_ORDER},
        # What is taken adds up: no line may be missing.
        Invariant.MUTATION_QUOTA_KEPT: {
            Observable.ELECTIONS: _EXACT,
            Observable.STATE_WRITES: _IN_ORDER,
        },
        # Brokers' own lines tell what they were told, and of which controllers.
        Invariant.METADATA_IN_ORDER: {
            Observable.ROLES: _IN_ORDER,
            Observable.STATE_WRITES: _IN_ORDER,
        },
        Invariant.OBEYED_AS_SENT: {Observable.ROLES: _EXACT},
        # The controller of an epoch never changes.
        Invariant.ONE_CONTROLLER_PER_EPOCH: {Observable.ELECTIONS: _AT_ANY_TIME},
        # What is written only says what else a controller has to read.
        Invariant.CONTROLLER_IN_ORDER: {Observable.ELECTIONS: _EXACT},
        Invariant.DECIDED_AS_REGISTERED: {
            Observable.ELECTIONS: _EXACT,
            Observable.STATE_WRITES: _IN_ORDER,
        },
        Invariant.ISR_SUBSET_ASSIGNED: {Observable.STATE_WRITES: _IN_ORDER},
        Invariant.DELETE_ONLY_IF_UNASSIGNED: {Observable.ROLES: _IN_ORDER},
        # What clients are answered and what they read in the end show it without brokers' lines.
        Invariant.SEQUENCES_IN_ORDER: {Observable.CLIENTS: _EXACT},
        # Each line is compared with the role that came before it.
        Invariant.ACTS_IN_ITS_ROLE: {
            Observable.APPENDS: _EXACT,
            Observable.HIGH_WATERMARKS: _EXACT,
            Observable.ROLES: _EXACT,
            Observable.ISR_CHANGES: _EXACT,
        },
        # Which ISR a leader knew at an append is told by one broker's lines in their order.
        Invariant.MIN_INSYNC_REPLICAS: {
            Observable.APPENDS: _EXACT,
            Observable.ROLES: _EXACT,
            Observable.ISR_CHANGES: _EXACT,
        },
    }
)
"""Check -> the fidelities with which it is sound, for each kind without which it is not decided."""


def is_sound(invariant: Invariant, observed: Observations) -> bool:
    """False where lines that are not faithful enough decide, or half of what is compared.

    Without ZooKeeper's own record a check knows by itself what it can decide.
    """
    missing = lacks(invariant, observed).items()
    return all(kind not in OF_BROKERS and has is Fidelity.NONE for kind, has in missing)


def observed_by(told: Mapping[str, object]) -> Observations:
    """What is observed of a run by the `detail` of its `RunStarted`.

    Where it tells nothing, everything; of kinds and fidelities that are not known, nothing.
    """
    observes = told.get("observes")
    if not isinstance(observes, Mapping):
        return dict(EVERYTHING)
    return {
        kind: Fidelity(observes[kind]) for kind in Observable if observes.get(kind) in [*Fidelity]
    }


def lacks(invariant: Invariant, observed: Observations) -> dict[Observable, Fidelity]:
    """What the check needs and does not get: the kinds, with the fidelity that they have."""
    found = {kind: observed.get(kind, Fidelity.NONE) for kind in NEEDS[invariant]}
    return {kind: has for kind, has in found.items() if has not in NEEDS[invariant][kind]}


def lacking(invariant: Invariant, missing: Mapping[Observable, Fidelity]) -> str:
    """That, for people: `appends exact (here disk), roles exact or log (here none)`."""
    return ", ".join(
        f"{kind} {' or '.join(f for f in Fidelity if f in NEEDS[invariant][kind])} (here {has})"
        for kind, has in missing.items()
    )
