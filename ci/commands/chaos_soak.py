"""`fencepost chaos --soak 1h`: rounds of drawn faults, with one screen that tells how it goes."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import msgspec

from fencepost.ci.exit_codes import INTERRUPTED
from fencepost.ci.gate.failures import UsageError as Misuse, as_usage
from fencepost.ci.gate.places import enter_network
from fencepost.ci.gate.runs import make_run_folder, new_run_id
from fencepost.ci.gate.scenario_outcomes import of_soak
from fencepost.ci.gate.verdict_files import RunHead, StageRecord
from fencepost.ci.results.run_files import write_run
from fencepost.ci.results.step_summary import leave_summary
from fencepost.ci.screens.console import say_fitted, show_json
from fencepost.ci.screens.soak_screen import soak_screen, totals_lines, verdict_counts
from fencepost.conformance.adapters.choices import EMBEDDED, PROXY
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.networks import require_network
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.chaos import selected
from fencepost.conformance.runs.soak import PLAN, Soak, SoakPlan, Totals, begin, read_soak, resume
from fencepost.conformance.scenarios import path_of
from fencepost.conformance.verdict import exit_code
from fencepost.reports.page.words import count

SECONDS = {"s": 1, "m": 60, "h": 3600}
DURATION_MAX_S = 7 * 24 * 3600
DRAWN = "random"
"""What is played unless stories are named."""


def seconds_of(text: str) -> float:
    """The length of `90s`, `10m` or `1h`; raises `UsageError` with what to write instead."""
    number, unit = text[:-1], text[-1:]
    if not number.isascii() or not number.isdecimal() or unit not in SECONDS:
        raise Misuse(f"{text!r} is not a duration; write for example 90s, 10m or 1h")
    seconds = int(number) * SECONDS[unit]
    if not 0 < seconds <= DURATION_MAX_S:
        raise Misuse(f"a soak lasts at least a second and at most a week, not {text}")
    return float(seconds)


def soak_plan(
    duration: str,
    settings: ClusterSettings,
    stories: Sequence[str] | None,
    *,
    seed: int,
) -> SoakPlan:
    """What is asked for; raises `UsageError` when that is no duration."""
    return SoakPlan(
        duration_s=seconds_of(duration),
        seed=seed,
        level=settings.level,
        stories=tuple(dict.fromkeys(map(_wherever, stories or (DRAWN,)))),
        zookeeper=settings.zookeeper,
        command=settings.implementation.target,
        broken_rule=settings.implementation.broken_rule,
        network=settings.network,
    )


def _wherever(story: str) -> str:
    """A file by its whole path, so that the soak can be resumed from another folder."""
    path = path_of(story)
    return str(path.resolve()) if path else story


def begin_soak(
    plan: SoakPlan, out: Path | None, summary: Path | None = None, *, as_json: bool
) -> int:
    """A new soak; the exit code of what it found."""
    return _run(begin(plan, make_run_folder(new_run_id(), out)), summary, as_json=as_json)


def resume_soak(
    folder: Path,
    duration: str | None,
    summary: Path | None = None,
    *,
    is_alone: bool,
    as_json: bool,
) -> int:
    """As `begin_soak`, of one that was interrupted; `duration` is of all sittings together.

    It says itself what it plays: with other options beside it, it is no `is_alone` and refused.
    """
    if not is_alone:
        raise Misuse("--resume continues a soak with its own settings; give only --soak beside it")
    with as_usage(ChoiceError):
        soak = resume(folder, None if duration is None else seconds_of(duration))
        plan = soak.plan
        require_network(plan.settings, selected(plan.stories))
    enter_network(plan.network)
    return _run(soak, summary, as_json=as_json)


def _run(soak: Soak, summary: Path | None, *, as_json: bool) -> int:
    plan = soak.plan
    with as_usage(ChoiceError), soak_screen(plan) as watcher:
        totals = soak.run(watcher)
    code = INTERRUPTED if totals.is_interrupted else int(exit_code(totals.verdicts))
    page = _leave_files(soak, totals, summary, code)
    if as_json:
        show_json({**_document(soak, totals), "report": str(page)})
        return code
    for line in (*summary_lines(soak, totals), f"report {page}"):
        say_fitted(line)
    return code


def _leave_files(soak: Soak, totals: Totals, summary: Path | None, code: int) -> Path:
    """The same files as other runs leave, of all sittings; the path of the report."""
    plan = soak.plan
    head = RunHead(
        folder=soak.folder,
        run_id=new_run_id(),
        command="chaos",
        level=plan.level,
        seed=plan.seed,
        reproduce=asked_again(
            plan.settings, plan.stories, plan.seed, f" --soak {plan.duration_s:.0f}s"
        ),
        target=plan.command,
    )
    record = StageRecord.of("chaos", totals.seconds, of_soak(totals))
    leave_summary(summary, head, [record], code)
    return write_run(head, record, code)


def asked_again(
    settings: ClusterSettings, stories: Sequence[str], seed: int | None, soak: str = ""
) -> str:
    """The command that asks for the same run, or soak, again."""
    words = [f"fencepost chaos{soak}"]
    words += [f" --story {quote(story)}" for story in stories]
    words.append(f" --level {settings.level}{settings.implementation.again}")
    words += [] if seed is None else [f" --seed {seed}"]
    words += [] if settings.network == PROXY else [f" --network {settings.network}"]
    words += [] if settings.zookeeper == EMBEDDED else [f" --zookeeper {quote(settings.zookeeper)}"]
    return "".join(words)


def summary_lines(soak: Soak, totals: Totals) -> list[str]:
    """What was found, each finding with its folder and the command that shows it again."""
    lines = []
    for found in totals.findings:
        where = soak.folder / found.bundle
        lines.append(f"round {found.number} {found.verdict}: {found.why} (traces in {where})")
        lines.append(f"  again: {found.reproduce}")
    each = verdict_counts(totals) or "none"
    others = ", ".join(words for _, words in totals_lines(totals)[1:])
    lines.append(
        f"{totals.verdict}: {count(totals.rounds, 'round')} in {totals.seconds:.0f} s ({each}), "
        f"{others}"
    )
    if totals.is_interrupted or totals.seconds < soak.plan.duration_s:
        lines.append(f"continue with: fencepost chaos --resume {soak.folder}")
    return lines


def tell_soak(folder: Path) -> int | None:
    """Say what a soak has found so far; its exit code, None when `folder` holds no soak."""
    if not (folder / PLAN).is_file():
        return None
    with as_usage(ChoiceError):
        soak = read_soak(folder)
    for line in summary_lines(soak, soak.totals):
        say_fitted(line)
    return int(exit_code(soak.totals.verdicts))


def _document(soak: Soak, totals: Totals) -> dict[str, object]:
    told: dict[str, object] = msgspec.to_builtins(totals)
    interrupted = told.pop("is_interrupted")
    place = {"run": str(soak.folder), "interrupted": interrupted}
    return told | place | {"verdict": totals.verdict}
