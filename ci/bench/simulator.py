"""How fast the simulator is on this machine: `python -m ci.bench.simulator`.

Seconds are of the processor, of one core, checks included; other work on the machine adds to them.
"""

from time import process_time

from ci.console import say, show_table

SEEDS = 100
LEVEL = 2
TARGET_S = 0.6
"""Per 30 virtual seconds: a thousand of them in five minutes on two cores."""
NS_PER_S = 1_000_000_000


def main() -> None:
    """Run some seeds and tell what 30 virtual seconds cost."""
    from conformance.simulate import REFERENCE_TARGET, Subject, judge_seed

    subject = Subject(target=REFERENCE_TARGET, level=LEVEL)
    started = process_time()
    results = [judge_seed(subject, seed) for seed in range(SEEDS)]
    judged_s = process_time() - started
    virtual_s = sum(subject.simulate(seed)[-1].mono_ns for seed in range(SEEDS)) / NS_PER_S
    simulated_s = process_time() - started - judged_s
    events = sum(result.events for result in results)
    cost_s = 30 * judged_s / virtual_s
    show_table(
        "simulator",
        ("what", "measured", "target"),
        [
            ["seconds per 30 virtual seconds, with checks", f"{cost_s:.2f}", f"{TARGET_S:.2f}"],
            ["lines of trace per second, with checks", f"{events / judged_s:,.0f}", ""],
            ["lines of trace per second, without", f"{events / simulated_s:,.0f}", ""],
        ],
    )
    say(f"{SEEDS} seeds at level {LEVEL}, {virtual_s:,.0f} virtual seconds, {events:,} lines")


if __name__ == "__main__":
    main()
