"""`fencepost gate`: every stage, one verdict, one exit code."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.exit_codes import INTERRUPTED, MEANINGS
from fencepost.ci.gate.failures import UsageError, as_usage
from fencepost.ci.gate.gate import run_gate
from fencepost.ci.gate.runs import make_run_folder, new_run_id
from fencepost.ci.gate.session import stored_run, whole_stages
from fencepost.ci.gate.shards import Shard
from fencepost.ci.gate.stages import stages_of
from fencepost.ci.gate.verdict_files import (
    OWN_EXPECTATIONS,
    VERDICT,
    GateRun,
    GateStage,
    StageRecord,
    overall,
)
from fencepost.ci.options import (
    BudgetsOption,
    ExpectOption,
    JsonOption,
    OptionalLevel,
    OutFolder,
    SeedOption,
    SparkMasterOption,
    SummaryOption,
    TargetOption,
    TierOption,
    WorkersOption,
    ZookeeperOption,
    keep_given,
    require_budgets,
    require_expectations,
)
from fencepost.ci.results.step_summary import leave_summary, require_summary
from fencepost.ci.results.stored_run import read_stages, read_stored
from fencepost.ci.screens.broken import broken_lines
from fencepost.ci.screens.console import note, say, show_table
from fencepost.conformance.adapters.choices import EMBEDDED
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.zookeepers import require_zookeeper
from fencepost.conformance.runs.run_settings import settings_of
from fencepost.conformance.verdict import exit_code
from fencepost.reports.analysis.budgets import OWN_BUDGETS
from fencepost.spec.tlc.models import Tier

Baseline = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        metavar="RUN",
        help="Tell in the report what is new, fixed, gone or slower than in that run.",
    ),
]
ShardOption = Annotated[
    str,
    typer.Option(
        "--shard", metavar="K/N", help="The share of one of N machines; fencepost merge joins them."
    ),
]
ResumedRun = Annotated[
    Path | None,
    typer.Option(
        "--resume", metavar="RUN", help="Go on with a gate that was killed; whole stages stay."
    ),
]


def gate(
    tier: TierOption = Tier.QUICK,
    out: OutFolder = None,
    level: OptionalLevel = None,
    seed: SeedOption = 0,
    zookeeper: ZookeeperOption = EMBEDDED,
    target: TargetOption = "",
    spark_master: SparkMasterOption = None,
    workers: WorkersOption = None,
    budgets: BudgetsOption = None,
    expect: ExpectOption = None,
    baseline: Baseline = None,
    shard: ShardOption = "1/1",
    resume: ResumedRun = None,
    summary: SummaryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Run every stage and judge the whole.

    The stages are spec, proofs, simulate, chaos, canary, replay, analyse and report.
    """
    require_summary(summary)
    if resume is not None:
        asked = [out, level, seed, target, spark_master, workers, budgets, expect, baseline]
        if any(asked) or tier is not Tier.QUICK or (zookeeper, shard) != (EMBEDDED, "1/1"):
            raise UsageError("--resume goes on with what a gate was asked for; give it alone")
        return go_on(resume, summary, as_json=as_json)
    share = Shard.parse(shard)
    with as_usage(ChoiceError):
        require_zookeeper(zookeeper)
        asked_for = {"command": target, "level": level, "zookeeper": zookeeper}
        settings = settings_of(asked_for)
    if baseline is not None:
        read_stored(baseline)
    require_budgets(budgets)
    require_expectations(expect)
    run_id = new_run_id()
    run = GateRun(
        folder=make_run_folder(run_id, out),
        run_id=run_id,
        tier=tier,
        level=settings.level,
        seed=seed,
        zookeeper=zookeeper,
        spark_master=spark_master,
        baseline=baseline,
        workers=workers,
        shard=share,
        target=target,
    )
    keep_given(budgets, run.folder / OWN_BUDGETS)
    keep_given(expect, run.folder / OWN_EXPECTATIONS)
    return play(run, stages_of(share), (), summary, as_json=as_json)


def play(
    run: GateRun,
    stages: Sequence[GateStage],
    done: Sequence[StageRecord],
    summary: Path | None,
    *,
    as_json: bool,
) -> int:
    """Run what is not done, and tell of the whole; an interruption is summed up, too."""
    try:
        records = run_gate(run, stages, announce, done)
    except KeyboardInterrupt:
        leave_summary(summary, run.head, read_stages(run.folder), INTERRUPTED)
        raise
    leave_summary(summary, run.head, records)
    return show_end(run, records, as_json)


def go_on(folder: Path, summary: Path | None = None, *, as_json: bool) -> int:
    """What a killed gate has left to do; what is whole is not run again."""
    run = stored_run(folder)
    stages = stages_of(run.shard)
    whole = whole_stages(run, read_stages(folder), stages)
    note(f"gate: whole already: {', '.join(record.stage for record in whole) or 'no stage'}")
    return play(run, stages, whole, summary, as_json=as_json)


def announce(record: StageRecord) -> None:
    """Say on stderr how a stage ended, as soon as it did."""
    note(f"{record.stage}: {record.verdict} in {record.seconds:.1f} s: {record.summary}")


def show_end(run: GateRun, records: tuple[StageRecord, ...], as_json: bool) -> int:
    """Print the summary, what broke, where the report is, and the exit code; returns that code."""
    code = exit_code(record.verdict for record in records)
    whole = overall(records)
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
    say(f"verdict {whole}, exit code {code}: {MEANINGS[code]}")
    if not run.shard.is_whole:
        say(f"this is share {run.shard}; fencepost merge judges the traces of all together")
    say(f"report {run.folder / 'report.html'}")
    return code
