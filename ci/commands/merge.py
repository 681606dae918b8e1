"""`fencepost merge`: the shares of a gate that ran on several machines, judged as one."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.commands.gate import play
from fencepost.ci.gate.runs import make_run_folder, new_run_id
from fencepost.ci.gate.session import begin_session, note_stage, stored_run
from fencepost.ci.gate.shards import WHOLE
from fencepost.ci.gate.stages import STAGES
from fencepost.ci.gate.verdict_files import OWN_EXPECTATIONS, write_stages
from fencepost.ci.options import (
    JsonOption,
    OutFolder,
    SparkMasterOption,
    SummaryOption,
    keep_given,
)
from fencepost.ci.results.merging import join_stages, join_traces, read_shares
from fencepost.ci.results.step_summary import require_summary
from fencepost.reports.analysis.budgets import OWN_BUDGETS

ShareFolders = Annotated[
    list[Path],
    typer.Argument(metavar="RUN...", help="The folders that gate --shard left, all of them."),
]


def merge(
    runs: ShareFolders,
    out: OutFolder = None,
    spark_master: SparkMasterOption = None,
    summary: SummaryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Join the shares of a gate, and judge the whole.

    The traces of all are analysed together.
    """
    require_summary(summary)
    shares = read_shares(runs)
    given = stored_run(shares[0].folder)
    run_id = new_run_id()
    folder = make_run_folder(run_id, out)
    run = replace(given, folder=folder, run_id=run_id, shard=WHOLE, spark_master=spark_master)
    for own in (OWN_BUDGETS, OWN_EXPECTATIONS):
        if (shares[0].folder / own).is_file():
            keep_given(shares[0].folder / own, folder / own)
    join_traces(shares, folder)
    joined = join_stages(shares, STAGES)
    begin_session(run)
    done = {record.stage for record in joined}
    for stage in STAGES:
        if stage.name in done:
            note_stage(run, stage)
    write_stages(folder, joined)
    return play(run, STAGES, joined, summary, as_json=as_json)
