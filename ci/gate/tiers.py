"""How much each tier of the gate tries: the one table of its numbers."""

from dataclasses import dataclass, replace

from fencepost.spec.tlc.models import Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What one tier tries."""

    seeds: int
    """Simulated schedules of the implementation under test."""
    mutant_seeds_max: int
    """Seeds within which each mutant must be caught."""
    upgrade_seeds: int
    """Schedules in which all brokers are upgraded from level 2 to the newest, one by one."""
    replayed_seeds: int
    """Schedules that TLC replays, by their traces, against the specs."""
    scenarios: tuple[str, ...] = ()
    """Chaos scenarios by name; none stands for all."""
    workers: int = 2
    """Processes of the simulator and of proofs, and threads of TLC."""


FIRST_SCENARIOS = (
    "quiet",
    "leader_pause",
    "leader_kill",
    "session_expiry",
    "controller_kill",
    "controller_pause",
    "rpc_faults",
    "held_command",
    "stale_command",
    "reassignment",
    "topic_recreated",
    "truncation_loss",
    "version_race",
    "administration",
    "producer_numbers",
    "random",
)
"""What every gate plays: those that a change breaks first, as many as take about two minutes. The
others would take as long again; `make chaos` and the night play all."""

EFFORT: dict[Tier, Effort] = {
    Tier.QUICK: Effort(
        seeds=150,
        mutant_seeds_max=2000,
        upgrade_seeds=8,
        replayed_seeds=3,
        scenarios=FIRST_SCENARIOS,
    ),
    Tier.PULL_REQUEST: Effort(
        seeds=600,
        mutant_seeds_max=2000,
        upgrade_seeds=30,
        replayed_seeds=10,
        scenarios=FIRST_SCENARIOS,
    ),
    Tier.NIGHTLY: Effort(
        seeds=10_000, mutant_seeds_max=2000, upgrade_seeds=500, replayed_seeds=100
    ),
}


def effort_of(tier: Tier, workers: int | None = None) -> Effort:
    """What the tier tries, by so many processes at a time when that is told."""
    return EFFORT[tier] if workers is None else replace(EFFORT[tier], workers=workers)
