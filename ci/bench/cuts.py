"""How soon a cut of the kernel is there and gone again.

Run `python -m fencepost.ci.bench.cuts`, as root.

One of three brokers is isolated, which closes the five ways that the fault is about, and is reached
again. Each time counts from the command to the answer, which comes when the kernel has done it.
The target is for two cores.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from fencepost.ci.bench.faults import quantile
from fencepost.ci.screens.console import say, show_table
from fencepost.fault_injection.injectors.links import cut_off
from fencepost.fault_injection.network.links.rules import Rule
from fencepost.fault_injection.network.links.wiring import broker_name
from fencepost.fault_injection.network.namespaces.client import (
    NoNamespacesError,
    SwitchControl,
    enter_own_network,
)
from fencepost.fault_injection.network.namespaces.wiring import NamespaceWiring
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.spec.scratch import scratch_folder

ROUNDS = 200
TARGET_MS = 40.0
"""Of the 99th percentile."""
BROKERS = (1, 2, 3)


def timed(what: Callable[[], object]) -> float:
    """How many milliseconds it takes."""
    started = time.perf_counter()
    what()
    return (time.perf_counter() - started) * 1000


def measure(folder: Path) -> dict[str, list[float]]:
    """All rounds, one after the other; times in ms."""
    found: dict[str, list[float]] = {"close": [], "open": []}
    with Supervisor(folder, "bench-cuts") as supervisor:
        switch = SwitchControl.start(supervisor)
        wiring = NamespaceWiring(links=switch, zookeeper="198.18.0.9:1", broker_ids=BROKERS)
        for broker_id in BROKERS:
            switch.node(broker_name(broker_id))
        rule = Rule(rule_id="r", links=cut_off(wiring, BROKERS[0]), stalls=True)
        for _ in range(ROUNDS):
            found["close"].append(timed(lambda: switch.add([rule])))
            found["open"].append(timed(lambda: switch.remove(["r"])))
        switch.close()
    return found


def main() -> int:
    """Print the times; 1 when they are beyond the target, 3 when there can be no namespaces."""
    try:
        enter_own_network()
    except NoNamespacesError as error:
        say(f"skipped: {error}")
        return 3
    with scratch_folder("bench") as folder:
        found = measure(folder)
    slowest = {what: quantile(times, 0.99) for what, times in found.items()}
    show_table(
        "cuts of the kernel",
        ("what", "p50", "p99", "target"),
        [
            [what, f"{quantile(times, 0.5):.1f} ms", f"{slowest[what]:.1f} ms", f"{TARGET_MS:g} ms"]
            for what, times in found.items()
        ],
    )
    return 1 if max(slowest.values()) > TARGET_MS else 0


if __name__ == "__main__":
    sys.exit(main())
