"""`fencepost gate`: every stage, one verdict, one exit code."""

from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.gate.failures import as_usage
from fencepost.ci.gate.gate import run_gate
from fencepost.ci.gate.runs import make_run_folder, new_run_id
from fencepost.ci.gate.stages import STAGES
from fencepost.ci.gate.verdict_files import VERDICT, GateRun, StageRecord
from fencepost.ci.options import (
    NEWEST_LEVEL,
    JsonOption,
    LevelOption,
    OutFolder,
    SeedOption,
    SparkMasterOption,
    TierOption,
    ZookeeperOption,
)
from fencepost.ci.results.stored_run import read_stored
from fencepost.ci.screens.broken import broken_lines
from fencepost.ci.screens.console import note, say, show_table
from fencepost.conformance.adapters.choices import EMBEDDED
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.zookeepers import require_zookeeper
from fencepost.conformance.verdict import exit_code, worst
from fencepost.spec.tlc.models import Tier

Baseline = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        metavar="RUN",
        help="Tell in the report what is new, fixed, gone or slower than in that run.",
    ),
]
MEANING = {
    0: "fine",
    1: "a violation was found",
    2: "nothing was violated, but not everything was decided",
    3: "the harness failed, or not everything ran",
    4: "nothing was selected",
}


def gate(
    tier: TierOption = Tier.QUICK,
    out: OutFolder = None,
    level: LevelOption = NEWEST_LEVEL,
    seed: SeedOption = 0,
    zookeeper: ZookeeperOption = EMBEDDED,
    spark_master: SparkMasterOption = None,
    baseline: Baseline = None,
    as_json: JsonOption = False,
) -> int:
    """Run every stage and judge the whole.

    The stages are spec, proofs, simulate, chaos, canary, replay, analyse and report.
    """
    with as_usage(ChoiceError):
        require_zookeeper(zookeeper)
    if baseline is not None:
        read_stored(baseline)
    run_id = new_run_id()
    run = GateRun(
        folder=make_run_folder(run_id, out),
        run_id=run_id,
        tier=tier,
        level=level,
        seed=seed,
        zookeeper=zookeeper,
        spark_master=spark_master,
        baseline=baseline,
    )

    records = run_gate(run, STAGES, announce)
    return show_end(run, records, as_json)


def announce(record: StageRecord) -> None:
    """Say on stderr how a stage ended, as soon as it did."""
    note(f"{record.stage}: {record.verdict} in {record.seconds:.1f} s: {record.summary}")


def show_end(run: GateRun, records: tuple[StageRecord, ...], as_json: bool) -> int:
    """Print the summary, what broke, where the report is, and the exit code; returns that code."""
    code = exit_code(record.verdict for record in records)
    if as_json:
        say((run.folder / VERDICT).read_text().rstrip())
        return code
    rows = [(record.stage, record.verdict, record.seconds, record.summary) for record in records]
    show_table("", ("stage", "verdict", "seconds", "found"), rows)
    for record in records:
        if lines := broken_lines(record, run.reproduce()):
            say(f"{record.stage} {record.verdict}:")
            for line in lines:
                say(line)
    say(f"verdict {worst(record.verdict for record in records)}, exit code {code}: {MEANING[code]}")
    say(f"report {run.folder / 'report.html'}")
    return code
