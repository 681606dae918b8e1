"""Verdicts, invariants and numbers as people read them."""

import re

from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Invariant

PROMISES: dict[Invariant, str] = {
    Invariant.ACKNOWLEDGED_DURABLE: "A record acknowledged with acks=all is never lost.",
    Invariant.COMMITTED_DURABLE: "A committed record is never lost.",
    Invariant.LINEARIZABLE_LOG: "Clients see each partition as one log that only grows.",
    Invariant.LEADER_COMPLETE: "A new leader holds every record committed before it.",
    Invariant.LOG_MATCHING: "Replicas agree on every record below the high watermark.",
    Invariant.HIGH_WATERMARK_MONOTONIC: "A leader's high watermark never goes back.",
    Invariant.ONE_LEADER_PER_EPOCH: "A leader epoch has one leader.",
    Invariant.ONE_COMMITTER_PER_EPOCH: "A replaced leader commits nothing more.",
    Invariant.LEADER_IN_ISR: "The leader is in its own in-sync replica set.",
    Invariant.LINEARIZABLE_ZNODE: "LeaderAndISR changes only by compare-and-set.",
    Invariant.ONLY_AUTHORISED_WRITES: "Only the controller or the leader writes LeaderAndISR.",
    Invariant.STALE_CONTROLLER_HARMLESS: "A replaced controller has no effect.",
    Invariant.STALE_INCARNATION_HARMLESS: "A restarted broker is not taken for the one before.",
    Invariant.ONLY_ASKERS_SHUT_DOWN: "Only a broker that asked to end is left out.",
    Invariant.INIT_NAMES_ALL: "The first command to a broker names all its partitions.",
    Invariant.METADATA_IN_ORDER: "Brokers tell clients what is published, and never what is older.",
    Invariant.OBEYED_AS_SENT: "A broker is told what a controller sent to it.",
    Invariant.ACTS_IN_ITS_ROLE: "A replica leads or follows as it was told, and not before.",
    Invariant.ONE_CONTROLLER_PER_EPOCH: "A controller epoch has one controller.",
    Invariant.CONTROLLER_IN_ORDER: "A controller looks before it decides, and resigns in time.",
    Invariant.DECIDED_AS_REGISTERED: "A controller decides on the brokers that are registered.",
    Invariant.DELETE_ONLY_IF_UNASSIGNED: "No broker gives up a replica that it is to have.",
    Invariant.ISR_SUBSET_ASSIGNED: "Every member of the ISR is assigned.",
    Invariant.SEQUENCES_IN_ORDER: "What a producer numbers is in the log once, in order and whole.",
    Invariant.LINEARIZABLE_CONFIG: "A change of the configuration is made once, and stays.",
    Invariant.FORWARDED_ONCE: "A request is forwarded once, and takes effect once.",
    Invariant.MUTATION_QUOTA_KEPT: "Clients create and delete no more than their quotas allow.",
    Invariant.PRINCIPAL_KEPT: "A change is made for the client that asked for it.",
    Invariant.ONLY_CONTROLLER_WRITES: "Only the controller changes the configuration.",
    Invariant.MIN_INSYNC_REPLICAS: "A record for acks=all finds enough replicas in sync.",
}
"""What each invariant promises, gravest loss first: that is the order of headlines."""

_SIGNS = {Verdict.PASS: "✓", Verdict.FAIL: "✕", Verdict.ERROR: "!", Verdict.VACUOUS: "∅"}


def sign(verdict: Verdict) -> str:
    """A mark that stands beside the word, for eyes that do not tell the colours apart."""
    return _SIGNS.get(verdict, "?" if verdict is Verdict.INCONCLUSIVE else "—")


def tone(verdict: Verdict) -> str:
    """The colour class of a verdict: `good`, `bad`, `doubt` or `quiet`."""
    if verdict is Verdict.PASS:
        return "good"
    if verdict in {Verdict.FAIL, Verdict.ERROR}:
        return "bad"
    doubtful = {Verdict.VACUOUS, Verdict.INCONCLUSIVE, Verdict.NOT_RUN, Verdict.DEVIATES}
    return "doubt" if verdict in doubtful else "quiet"


def gravity(invariant: Invariant) -> int:
    """Smaller is graver."""
    return list(PROMISES).index(invariant)


def alike(message: str) -> str:
    """What messages of one cause have in common: all but their numbers."""
    return re.sub(r"\d+", "#", message)


def anchor(*parts: object) -> str:
    """A name within the page that is the same in each report: `mutant-no_step_down`.

    Different parts give different names; what no name may hold is written as its code.
    """
    words = "-".join(str(part) for part in parts)
    return re.sub(r"[^\w./-]", lambda found: f"~{ord(found[0]):x}~", words)


def count(number: int, noun: str) -> str:
    """`1 run`, `2 runs`, `12,000 events`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def run_title(folder: str) -> str:
    """How a trace folder is called: by its name, unless it is the run's only one."""
    return "The run" if folder == "." else folder


def inside(title: str) -> str:
    """A title of a run within a sentence."""
    return "the run" if title == run_title(".") else title


def milliseconds(value: float) -> str:
    """`0.04 ms`, `3.6 ms`, `1,517 ms`."""
    digits = 0 if value >= 10 else 1 if value >= 1 else 2
    return f"{value:,.{digits}f} ms"


def seconds(value: float | None) -> str:
    """`0.42 s`, `87 s`; a dash for an unknown time."""
    if value is None:
        return "—"
    return f"{value:,.2f} s" if value < 10 else f"{value:,.1f} s"


def at(nanoseconds: int) -> str:
    """An instant of a run: `+1.734 s`."""
    return f"+{nanoseconds / 1e9:,.3f} s"


def listing(items: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]
