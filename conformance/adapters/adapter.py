"""How an implementation is started: a command line, and the flags that every broker takes.

Another implementation is plugged in with its own command; it must take the same flags, register in
ZooKeeper as `spec/znodes.py` says, speak `spec/wire`, and write its trace as `spec/README.md` says.
Only where connections go through a proxy it also gets `--advertised HOST:PORT`, the address to
register instead of the one at which it listens, and must listen at one port. In a network of its
own it also gets `--host` and `--port`: where to listen.
The reference can be made ready before its time, as `Supervisor.prepare` says; no other has to.
"""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from fencepost.fault_injection.network.links.wiring import BrokerPlace
from fencepost.spec.vocabulary import ProtocolLevel

REFERENCE_COMMAND = f"{shlex.quote(sys.executable)} -m fencepost.impl node"
"""The implementation that comes with Fencepost; known here as a command line only."""

LEVELS = tuple(level.value for level in ProtocolLevel)


class ChoiceError(ValueError):
    """A name, level, address or setting that cannot be used; says what to give instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """What all brokers of one cluster have in common; times in milliseconds."""

    command: str = REFERENCE_COMMAND
    brokers: int = 3
    level: int = 2
    session_timeout_ms: int = 1500
    replica_lag_ms: int = 1500
    mutant: str = ""
    """A rule that every broker breaks on purpose; only the reference knows `--mutant`."""
    first_controller: int = 0
    """The broker that starts first and is elected; 0: whoever comes first."""
    network: str = "proxy"
    """What all members share, one of `fencepost.conformance.adapters.networks`."""
    extra: tuple[str, ...] = ()
    """More flags for every broker."""

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ChoiceError(f"level {self.level} is none; choose one of {LEVELS}")
        if self.brokers < 1:
            raise ChoiceError(f"a cluster of {self.brokers} brokers is none; give 1 or more")
        if self.first_controller > self.brokers:
            raise ChoiceError(
                f"first_controller is {self.first_controller}; choose one of 1 to {self.brokers}"
            )
        if not shlex.split(self.command):
            raise ChoiceError("the command of the implementation is empty; name a program")

    @property
    def waits(self) -> bool:
        """True when a broker can be ready before it is told who it is."""
        return self.command == REFERENCE_COMMAND

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """From 1 on."""
        return tuple(range(1, self.brokers + 1))


def unusual(settings: ClusterSettings) -> dict[str, int]:
    """What a schedule file says of a cluster, where it differs from the usual one."""
    names = ("brokers", "session_timeout_ms", "replica_lag_ms")
    usual = ClusterSettings()
    found = {name: getattr(settings, name) for name in names}
    return {name: value for name, value in found.items() if value != getattr(usual, name)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Where one cluster keeps what: the traces in `root`, the rest below it."""

    root: Path

    @property
    def processes(self) -> Path:
        """Logs of processes, and the ledger."""
        return self.root / "processes"

    @property
    def zookeeper(self) -> Path:
        """Of the server of our own."""
        return self.root / "zookeeper"

    def data(self, broker_id: int) -> Path:
        """The logs of one broker's partitions."""
        return self.root / f"broker-{broker_id}"


def broker_command(
    settings: ClusterSettings,
    broker_id: int,
    *,
    place: BrokerPlace,
    folders: Folders,
    run_id: str,
) -> list[str]:
    """The command line of one broker."""
    flags = {
        "--broker-id": broker_id,
        "--zookeeper": place.zookeeper,
        "--data": folders.data(broker_id),
        "--trace": folders.root,
        "--run-id": run_id,
        "--level": settings.level,
        "--session-timeout-ms": settings.session_timeout_ms,
        "--replica-lag-ms": settings.replica_lag_ms,
    }
    given = [text for name, value in flags.items() for text in (name, str(value))]
    if place.listens:
        host, _, port = place.listens.rpartition(":")
        given += ["--host", host, "--port", port]
    given += ["--advertised", place.advertised] if place.advertised else []
    given += ["--mutant", settings.mutant] if settings.mutant else []
    return [*shlex.split(settings.command), *given, "--fault-control", *settings.extra]
