"""What runs are drawn from, one row per kind of run; what stands twice comes twice as often.

Runs of the swarm are short and differ in kind: some have much loss and few faults, some the
reverse, so that a bug that needs calm is found too. A million of them cover everything. A dense run
is one of few, such as real processes can repeat: several rounds of faults in one run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.fault_injection.faults.admin_faults import ElectPreferred, KickController
from fencepost.fault_injection.faults.catalogue import DRAWN_FOR_REAL, DRAWN_FOR_SIMULATOR
from fencepost.fault_injection.faults.disk_faults import (
    BreakDisk,
    FillDisk,
    LosePower,
    StaleCheckpoint,
)
from fencepost.fault_injection.faults.request_faults import DuplicateRequest
from fencepost.fault_injection.stories.situations import (
    CONTROL,
    DATA,
    LEADERS,
    MOVES,
    Situation,
)
from fencepost.fault_injection.workload.producer_window import IN_FLIGHT_MAX

Choices = Mapping[str, Sequence[Any]]
"""Field -> what it is chosen from."""

PATIENT_MS = 30_000
"""A session that outlasts what happens: only leaders see that a follower is dead."""
MANY_PARTITIONS = 50
FLUSHED_NEVER_MS = 1_000_000
"""Longer than any run: what is in a log is lost with the power."""
DISK_KINDS = (BreakDisk.kind, FillDisk.kind)
NOT_REPEATED = frozenset({*DISK_KINDS, LosePower.kind, StaleCheckpoint.kind, DuplicateRequest.kind})
"""What no move does to a disk of a process, or not as it is simulated (`move_recorder.py`); and
what a stepped broker cannot tell apart: the answers to one request that came twice."""

NOT_REPLAYED = frozenset({ElectPreferred.kind, KickController.kind})
"""What the specs do not have: the replay of a run by TLC ends there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMix:
    """What runs of one kind are drawn from; shares are of the rounds."""

    cluster: Choices
    """Fields of `RunOptions`, drawn once per run."""
    round: Choices
    """Fields of `RunOptions`, drawn anew for each round."""
    weather: Choices
    """Fields of `Weather`, drawn anew for each round."""
    rounds: int = 1
    situations: tuple[Situation, ...]
    counts: Sequence[int]
    """Of situations in a round."""
    latest: float = 2 / 3
    """In this share of a round its situations begin."""
    singles: float = 0.0
    """Share with single faults of some of the kinds that processes can do too."""
    world: float = 0.0
    """Share with single faults of other kinds that overlap."""
    disks: float = 0.0
    """Share in which disks refuse to work."""
    lasting: float = 0.0
    """Share in which the disk of one broker is broken, full or slow to the end."""
    shutdowns: float = 0.0
    """Share in which brokers end in good order, at the levels that let others lead first."""
    left_out: frozenset[str] = frozenset()
    """Kinds of faults that never come."""
    calm: float = 0.0
    """Share with one situation of data and nothing else, while clients write without a pause."""
    deaths: float = 0.0
    """Share in which some brokers stay dead, and the rest must heal without them."""
    administrator: float = 0.0
    """Share with an administrator that asks for everything."""
    bad_topic: float = 0.0
    """Share in which a znode beside the topics holds no topic."""

    def kinds_of_processes(self) -> list[str]:
        """What `singles` are drawn from."""
        return sorted({*DRAWN_FOR_REAL} - self.left_out)

    def kinds_of_world(self) -> list[str]:
        """What `world` is drawn from."""
        return sorted({*DRAWN_FOR_SIMULATOR} - {*DISK_KINDS} - self.left_out)


SWARM = RunMix(
    cluster={
        "brokers": (*(3,) * 11, 4, 5),
        "replication_factor": (2, 3, 3, 3, 4),
        "partitions": (*(1, 1, 2) * 14, *(4, 4, 5) * 3, MANY_PARTITIONS),
        "session_timeout_ms": (600, 1_200),
        "replica_lag_time_ms": (300, 900, 2_000),
        "checkpoint_ms": (100, 500, 5_000),
        "min_insync_replicas": (1, 1, 2),
        "idempotent": (False, False, False, True, True),
        "in_flight": (1, 1, 2, 3, IN_FLIGHT_MAX),
        "late_topics": (0, 0, 0, 0, 1, 3),
        "moves": (*(False,) * 6, True),
        "founds": (*(False,) * 11, True),
        "unclean_leader_election": (*(False,) * 49, True),
        "asks": (*(False,) * 7, True),
        "bad_topic": (*(False,) * 5, True),
        "by_hand": (*(False,) * 11, True),
        "asks_by_hand": (*(False,) * 11, True),
        "asks_last": (False, True),
        "secured": (False, True),
        "mutation_quota": (*(False,) * 70, True),
        "flush_ms": (*(0,) * 6, 2_000, FLUSHED_NEVER_MS),
        "reads_max": (1, 2, 1_000, 1_000),
    },
    round={
        "duration_ms": (6_000, 9_000, 12_000),
        "producers": (1, 2, 3),
        "think_ms": ((1, 20), (5, 100), (50, 400)),
        "unacknowledged": (0.0, 0.0, 0.0, 0.3),
        "connection_breaks": (0.0, 0.0, 0.2),
    },
    weather={
        "slow": (0.0, 0.01, 0.05),
        "loss": (0.0, 0.0, 0.01, 0.05),
        "duplication": (0.0, 0.0, 0.02),
        "reply_loss": (0.0, 0.0, 0.0, 0.2),
    },
    situations=(*CONTROL, *CONTROL, *DATA, *LEADERS),
    counts=(0, 1, 1, 2),
    latest=0.4,
    singles=0.9,
    world=0.5,
    disks=0.08,
    lasting=0.08,
    shutdowns=0.15,
    left_out=NOT_REPLAYED,
    calm=0.06,
    deaths=0.04,
)
_DENSE_CLUSTER: Choices = {
    "brokers": (3, 4, 4, 5),
    "replication_factor": (2, 3),
    "partitions": (1, 1, 2, 3),
    "session_timeout_ms": (600, 1_200, 1_200, 2_000, 2_000, PATIENT_MS),
    "replica_lag_time_ms": (300, 500, 900, 2_000, 8_000),
    "checkpoint_ms": (100, 500, 5_000),
    "min_insync_replicas": (1, 1, 2),
    "unclean_leader_election": (False, False, False, True),
    "idempotent": (False, True),
}
_DENSE_ROUND: Choices = {
    "duration_ms": range(4_000, 8_001),
    "producers": (1, 2, 2),
    "think_ms": ((10, 80), (20, 150), (50, 300)),
    "unacknowledged": (0.0, 0.3),
    "connection_breaks": (0.0, 0.0, 0.1),
}
_DENSE_WEATHER: Choices = {
    "slow": (0.0, 0.0, 0.02),
    "loss": (0.0, 0.0, 0.0, 0.02),
    "reply_loss": (0.0, 0.0, 0.0, 0.1),
}
DENSE = RunMix(
    cluster=_DENSE_CLUSTER,
    round=_DENSE_ROUND,
    weather=_DENSE_WEATHER,
    rounds=8,
    situations=(*CONTROL, *DATA, *LEADERS, *MOVES),
    counts=(1, 2, 3, 4),
    singles=0.4,
    world=0.4,
    left_out=NOT_REPEATED,
    deaths=0.3,
    administrator=0.6,
    bad_topic=0.3,
)
DENSE_DATA = RunMix(
    cluster={
        **_DENSE_CLUSTER,
        "brokers": (4,),
        "replication_factor": (3,),
        "partitions": (1,),
        "session_timeout_ms": (600, 600, 600, 1_200, 1_200, 1_200, *(PATIENT_MS,) * 4),
        "replica_lag_time_ms": (300, 500, 8_000),
        "min_insync_replicas": (1,),
        "idempotent": (False,),
    },
    round={**_DENSE_ROUND, "producers": (2,), "think_ms": ((5, 60),)},
    weather=_DENSE_WEATHER,
    rounds=8,
    situations=(*DATA, *LEADERS),
    counts=(1, 2, 3, 4),
    deaths=0.3,
    bad_topic=0.3,
)
"""One partition that always grows; sessions expire soon, or outlast the round."""
DENSE_CONTROL = RunMix(
    cluster={
        **_DENSE_CLUSTER,
        "brokers": (4, 5),
        "replication_factor": (2,),
        "partitions": (2, 3),
        "session_timeout_ms": (2_000, 4_000),
    },
    round={
        **_DENSE_ROUND,
        "duration_ms": range(2_000, 4_501),
        "producers": (1,),
        "think_ms": ((50, 300),),
    },
    weather=_DENSE_WEATHER,
    rounds=16,
    situations=(*CONTROL, *LEADERS, *MOVES),
    counts=(1,),
    latest=0.1,
    deaths=0.3,
    administrator=0.3,
    bad_topic=0.3,
)
"""Sessions outlast a controller's pauses, and there is much to decide. Rounds are short: what one
situation leaves undone, the next one often mends."""
