"""`baseline.json`: what differs from the run that a gate was given as its baseline."""

from dataclasses import asdict

from fencepost.ci.gate.verdict_files import GateRun, write_json
from fencepost.ci.results.cases import groups_of
from fencepost.ci.results.comparison import compare
from fencepost.ci.results.stored_run import PastRun, read_stages, read_stored
from fencepost.reports.page.comparison import BASELINE


def leave_comparison(run: GateRun) -> None:
    """The report finds in the run folder what differs; nothing is left without a baseline."""
    if run.baseline is None:
        return
    head = run.head
    now = PastRun(
        folder=run.folder,
        groups=tuple(groups_of(read_stages(run.folder))),
        settings={
            "command": head.command,
            "tier": str(head.tier),
            "level": str(head.level),
            "seed": str(head.seed),
        },
    )
    write_json(run.folder / BASELINE, asdict(compare(read_stored(run.baseline), now)))
