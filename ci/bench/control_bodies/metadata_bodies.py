"""Metadata for many brokers: `python -m fencepost.ci.bench.control_bodies.metadata_bodies`.

The controller's bodies are made and serialised as a broker process does it, for 200 brokers and
200,000 partitions; the channels are stubs that keep what they would send. Once one body is shared
by all brokers (UMD-001), and once each broker has a body of its own, on a smaller number of brokers
from which the rest is extrapolated. Each is measured in a process of its own, by the growth of its
resident memory above the controller's knowledge of the partitions. What gRPC copies to send a body
is not in it.
"""

import json
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any

from fencepost.ci.bench.measured import Measured, show_measured

BROKERS = 200
PARTITIONS = 200_000
REPLICATION_FACTOR = 3
OWN_BODIES = 4
"""So many brokers get a body of their own; the rest is extrapolated."""
MEGABYTE = 1 << 20
TARGET_MB = 150.0
"""Of the shared body of `PARTITIONS`; it is wanted in proportion to them."""


def main(arguments: Sequence[str]) -> None:
    """Measure both and print the table; with `--bodies`, measure one and print JSON."""
    parser = ArgumentParser(prog="metadata_bodies", description=__doc__)
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--bodies", type=int, help="so many bodies are made, in this process")
    given = parser.parse_args(arguments)
    if given.bodies is not None:
        print(json.dumps(measure(given.partitions, given.bodies)))
        return
    show_measured("metadata of the cluster, as the controller keeps them to send", lines(given))


def lines(given: Namespace) -> Iterator[Measured]:
    """The shared body of all and of half the partitions, and bodies of their own."""
    whole = given.partitions
    shared = _in_a_process(whole, 1)
    half = _in_a_process(whole // 2, 1)
    own = _in_a_process(whole, OWN_BODIES)
    each = (own["memory_mb"] - shared["memory_mb"]) / (OWN_BODIES - 1)
    target = TARGET_MB * whole / PARTITIONS
    yield _line(f"1 body for {BROKERS} brokers", whole, shared, target)
    yield _line(f"1 body for {BROKERS} brokers", whole // 2, half, target / 2)
    yield _line(f"{OWN_BODIES} bodies for {OWN_BODIES} brokers", whole, own, None)
    yield Measured(
        what=f"{BROKERS} bodies for {BROKERS} brokers",
        size=f"{whole:,} partitions, extrapolated",
        figure=shared["memory_mb"] + each * (BROKERS - 1),
        target=None,
        unit="MB",
    )


def measure(partitions: int, bodies: int) -> dict[str, float]:
    """Resident memory in MB that so many bodies and their wire form take, and the time to make."""
    core = _Core(partitions)
    before, started = _resident_mb(), monotonic()
    kept = [core.sent() for _ in range(bodies)]
    channels = [kept[broker % bodies] for broker in range(BROKERS if bodies == 1 else bodies)]
    seconds = monotonic() - started
    assert len({id(data) for _, data in channels}) == bodies
    return {
        "memory_mb": _resident_mb() - before,
        "seconds": seconds,
        "bytes_mb": len(kept[0][1]) / MEGABYTE,
    }


class _Core:
    """A controller's knowledge of the cluster, as it has read it."""

    def __init__(self, partitions: int) -> None:
        # This room knows `impl` by name alone.
        znodes = import_module("fencepost.spec.znodes")
        context = import_module("fencepost.impl.core.controller.controller_context")
        config = import_module("fencepost.impl.core.config")
        self._metadata = import_module("fencepost.impl.core.metadata.metadata_bodies")
        self._shared = import_module("fencepost.impl.shell.rpc.codec").SharedBodies(1)
        self._config = config.Config(broker_id=1)
        self.context = context.ControllerContext()
        for number in range(1, BROKERS + 1):
            self.context.live[number] = number
            self.context.endpoints[number] = znodes.BrokerDocument(host="10.0.0.1", port=number)
        for number in range(partitions):
            key = znodes.TopicPartition(f"topic-{number // 100}", number % 100)
            replicas = tuple(1 + (number + step) % BROKERS for step in range(REPLICATION_FACTOR))
            state = znodes.LeaderAndIsr(
                leader=replicas[0], leader_epoch=3, isr=frozenset(replicas), controller_epoch=2
            )
            self.context.assign(key, replicas)
            self.context.states[key] = state, 7
            self.context.incarnations[key] = 1_000 + number

    def sent(self) -> tuple[Any, bytes]:
        """All metadata as one body, and its wire form."""
        made = self._metadata.MetadataBodies(self._config)
        self.context.touched = set(self.context.states)
        made.seal(self.context, 2)
        body = made.full(self.context, 2)
        forms = [self._shared.encode(body) for _ in range(BROKERS)]
        assert len({id(form) for form in forms}) == 1, "each broker has the same bytes"
        return (made, body), forms[0]


def _in_a_process(partitions: int, bodies: int) -> dict[str, float]:
    sizes = ["--partitions", str(partitions), "--bodies", str(bodies)]
    command = [sys.executable, "-m", "fencepost.ci.bench.control_bodies.metadata_bodies", *sizes]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _resident_mb() -> float:
    (line,) = (x for x in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in x)
    return int(line.split()[1]) / 1024


def _line(what: str, partitions: int, found: dict[str, float], target: float | None) -> Measured:
    return Measured(
        what=what,
        size=f"{partitions:,} partitions",
        figure=found["memory_mb"],
        target=target,
        unit="MB",
        parts=f"made in {found['seconds']:.1f} s, {found['bytes_mb']:.0f} MB in its wire form",
    )


if __name__ == "__main__":
    main(sys.argv[1:])
