"""The page of the hazards that are shown on real processes."""

from collections import Counter
from pathlib import Path

from fencepost.ci.bench.mutants_on_processes import ways
from fencepost.conformance.whitebox.stepped_hazards import SteppedHazard, stepped_hazards

PAGE = Path("spec/hazards_on_processes.md")
HEAD = """\
# Hazards on real processes

Written by `python -m fencepost.ci.pages.generated`; `fencepost chaos --from-counterexample all`
makes it true.

- *stepped*: brokers under a real ZooKeeper make the counterexample move by move; with the hazard
  the checks see what it leads to, and with its repair they see nothing.
- *same rule*: a row is stepped that shows what else comes of the same wrong rule.
- *repeated*: the counterexample has no steps for the core, for the reason given; a story makes what
  it shows, and brokers repeat that run move by move, with the rule broken and as it should be.
  What a liveness property asks for has not come to hold when the run ends.
- *not seen*: brokers make it, but no check of a trace judges what it violates.
- *not stepped*: what the core, or stories, would have to have first
  (`conformance/whitebox/absent_rules.py`).

"""


def led_hazards() -> tuple[SteppedHazard, ...]:
    """Every hazard, with the mutants that processes show along a schedule."""
    made = {mutant: how["schedules"] for mutant, how in ways().items() if "schedules" in how}
    return stepped_hazards(made)


def page() -> str:
    """The whole page."""
    rows = led_hazards()
    counts = Counter(row.way for row in rows)
    told = ", ".join(f"{count} {way}" for way, count in counts.most_common())
    table = [f"| {row.id} | {row.title} | {row.way} | {row.told} |" for row in rows]
    head = ["| hazard | title | way | which row, or why not |", "|---|---|---|---|"]
    return HEAD + f"Of {len(rows)} hazards: {told}.\n\n" + "\n".join([*head, *table]) + "\n"
