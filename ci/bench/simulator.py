"""How fast the simulator is on this machine: `python -m fencepost.ci.bench.simulator`.

Seconds are of the processor, of one core; other work on the machine adds to them. A protocol event
is what is handed to a node's `step`: a message, an answer, a watch, a tick.
"""

import sys
from collections import Counter
from importlib import import_module
from time import process_time
from typing import Any

from fencepost.ci.bench.measured import without_words
from fencepost.ci.screens.console import say, show_table
from fencepost.conformance.whitebox.simulate import Subject, judge_seed
from fencepost.spec.vocabulary import NEWEST_LEVEL

SEEDS = 100
LEVEL = NEWEST_LEVEL
NODE = ("fencepost.impl.core.node", "Node")
TICK = "Tick"
TARGET_S = 0.6
"""Per 30 virtual seconds: a thousand of them in five minutes on two cores."""
TARGET_EVENTS = 20_000
TARGET_WITHOUT_TICKS = 40_000
NS_PER_S = 1_000_000_000


def main() -> None:
    """Run some seeds and tell what 30 virtual seconds cost."""
    subject = Subject(level=LEVEL)
    started = process_time()
    lines = sum(judge_seed(subject, seed).events for seed in range(SEEDS))
    judged_s = process_time() - started
    steps = _counted_steps()
    started = process_time()
    virtual_s = sum(subject.simulate(seed)[-1].mono_ns for seed in range(SEEDS)) / NS_PER_S
    simulated_s = process_time() - started
    cost_s = 30 * judged_s / virtual_s
    events, ticks = steps.total(), steps[TICK]
    show_table(
        "simulator",
        ("what", "measured", "target"),
        [
            ["seconds per 30 virtual seconds, with checks", f"{cost_s:.2f}", f"{TARGET_S:.2f}"],
            _rate("protocol events per second", events / simulated_s),
            _rate("protocol events per second, with checks", events / judged_s),
            _rate("the same without ticks", (events - ticks) / judged_s, TARGET_WITHOUT_TICKS),
            _rate("lines of trace per second, with checks", lines / judged_s, target=None),
        ],
    )
    say(
        f"{SEEDS} seeds at level {LEVEL}, {virtual_s:,.0f} virtual seconds, "
        f"{events:,} protocol events of which {ticks:,} are ticks, {lines:,} lines of trace"
    )


def _counted_steps() -> Counter[str]:
    """By kind, the events that any node is handed from now on."""
    module, name = NODE
    node: Any = getattr(import_module(module), name)
    step, steps = node.step, Counter[str]()

    def count(self: object, event: object, now_ms: int) -> object:
        steps[type(event).__name__] += 1
        return step(self, event, now_ms)

    node.step = count
    return steps


def _rate(what: str, per_s: float, target: int | None = TARGET_EVENTS) -> list[str]:
    return [what, f"{per_s:,.0f}", f"{target:,}" if target else ""]


if __name__ == "__main__":
    without_words(sys.argv[1:], __doc__)
    main()
