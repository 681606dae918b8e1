"""How many false alarms runs without a fault give.

Run `python -m fencepost.ci.bench.null_runs [--runs N] [--target kafka:3.9.1]`.

Twenty share a cluster (`conformance/runs/null_runs.py`). A false alarm is a violated check, or
something that did not come in its time on a host that was not stalled.
"""

import argparse
import sys
from collections.abc import Sequence
from time import monotonic

from fencepost.ci.screens.console import note, say, show_table
from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.null_runs import PER_CLUSTER, NullRuns, play_null_runs
from fencepost.spec.scratch import scratch_folder

RUNS = 200


def main(arguments: Sequence[str]) -> int:
    """Print the count; 1 when there was a false alarm, 2 when not all could be played."""
    parser = argparse.ArgumentParser(
        prog="python -m fencepost.ci.bench.null_runs", description=__doc__
    )
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--level", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", default="", help="as of fencepost chaos")
    given = parser.parse_args(arguments)
    implementation = implementation_of(given.target)
    settings = ClusterSettings(level=given.level, implementation=implementation)
    found: list[NullRuns] = []
    started = monotonic()
    with scratch_folder("bench") as folder:
        for first in range(0, given.runs, PER_CLUSTER):
            runs = min(PER_CLUSTER, given.runs - first)
            out = folder / f"from-{first}"
            found.append(play_null_runs(runs, settings=settings, seed=given.seed + first, out=out))
            note(f"null runs: {first + runs} of {given.runs}, {found[-1].result.verdict}")
    played = sum(one.runs for one in found)
    alarms = [sentence for one in found for sentence in one.alarms]
    undecided = [sentence for one in found for sentence in one.undecided]
    requests = sum(one.result.acknowledged for one in found)
    noisy = sum(1 for one in found if one.result.interference)
    show_table(
        f"runs without a fault of {implementation.name}",
        ("runs", "clusters", "acknowledged", "false alarms", "undecided", "noisy", "seconds"),
        [(played, len(found), requests, len(alarms), len(undecided), noisy, monotonic() - started)],
    )
    for sentence in (*alarms, *undecided):
        say(sentence)
    if alarms:
        return 1
    return 2 if undecided or played < given.runs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
