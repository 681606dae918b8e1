"""The gate: runs the stages in order, writes down each, and rolls their verdicts up into one.

A stage that crashes is an ERROR of the harness, never a pass, and the stages after it still run:
they tell what they can from what is there.
"""

import time
import traceback
from collections.abc import Callable, Sequence

from fencepost.ci.exit_codes import INTERRUPTED
from fencepost.ci.gate.outcomes import CUT_SHORT, StageInterrupted, StageOutcome
from fencepost.ci.gate.session import begin_session, clear_stage, note_stage, only_one
from fencepost.ci.gate.verdict_files import VERDICT, GateRun, GateStage, StageRecord, write_stages
from fencepost.ci.results.run_files import write_results
from fencepost.conformance.verdict import Verdict

CRASHES = "errors.txt"
"""Tracebacks of stages that crashed; the sentence is in `verdict.json`."""

Announce = Callable[[StageRecord], None]


def run_gate(
    run: GateRun,
    stages: Sequence[GateStage],
    announce: Announce,
    done: Sequence[StageRecord] = (),
) -> tuple[StageRecord, ...]:
    """Run `stages` in order; the folder of `run` holds verdict, JUnit and stage files afterwards.

    Those of which `done` has the record are not run again. An interruption is written down like
    everything else, and raised again. Raises `UsageError` while another gate runs in the folder.
    """
    with only_one(run.folder):
        if not done:
            begin_session(run)
        return _run_gate(run, stages, announce, {record.stage: record for record in done})


def _run_gate(
    run: GateRun,
    stages: Sequence[GateStage],
    announce: Announce,
    done: dict[str, StageRecord],
) -> tuple[StageRecord, ...]:
    (run.folder / VERDICT).unlink(missing_ok=True)  # of a session that was interrupted
    records: list[StageRecord] = []
    code: int | None = None
    begun, started = 0, time.monotonic()
    try:
        for stage in stages:
            begun, started = begun + 1, time.monotonic()
            if stage.name in done:
                records.append(done[stage.name])
                continue
            clear_stage(run, stage)
            records.append(run_stage(stage, run))
            announce(records[-1])
            if stage.in_report:
                note_stage(run, stage)
                write_stages(run.folder, records)
    except KeyboardInterrupt as error:
        code = INTERRUPTED
        seconds = time.monotonic() - started
        cut = [_interrupted(stage, seconds, error) for stage in stages[len(records) : begun]]
        records += cut
        records += [_not_begun(stage) for stage in stages[begun:]]
        write_stages(run.folder, records)
        raise
    finally:
        write_results(run.head, records, code)
    return tuple(records)


def run_stage(stage: GateStage, run: GateRun) -> StageRecord:
    """The record of one stage; whatever it raises becomes an ERROR with its sentence."""
    started = time.monotonic()
    try:
        outcome = stage.run(run)
    except Exception as error:
        outcome = _crashed(run, stage, error)
    return StageRecord.of(stage.name, time.monotonic() - started, outcome)


def _crashed(run: GateRun, stage: GateStage, error: Exception) -> StageOutcome:
    with (run.folder / CRASHES).open("a") as crashes:
        crashes.write(f"stage {stage.name}\n")
        crashes.writelines(traceback.format_exception(error))
    sentence = " ".join(str(error).split()) or type(error).__name__
    return StageOutcome(verdict=Verdict.ERROR, summary=f"{sentence} (see {CRASHES})")


def _interrupted(stage: GateStage, seconds: float, error: KeyboardInterrupt) -> StageRecord:
    """What it had found, if it tells; it begins anew when the gate is gone on with."""
    nothing = StageOutcome(verdict=Verdict.NOT_RUN, summary=CUT_SHORT)
    outcome = error.outcome if isinstance(error, StageInterrupted) else nothing
    return StageRecord.of(stage.name, seconds, outcome)


def _not_begun(stage: GateStage) -> StageRecord:
    return StageRecord(stage=stage.name, verdict=Verdict.NOT_RUN, summary="not begun")
