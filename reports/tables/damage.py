"""What is wrong with the trace files of one run, in sentences that name the file.

Some of it makes a run unfit to be judged: what another run tells, or the same line a second time,
did not happen in this one. Where a broker has no trace, what it wrote would look like the deed of a
stranger: such a run is judged by what its clients saw alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fencepost.conformance.checks.observations import EVERYTHING, OF_BROKERS, Observations
from fencepost.conformance.checks.trace_dialect import SPEC
from fencepost.reports.page.words import count, run_title
from fencepost.reports.tables.health import FileHealth
from fencepost.spec.trace import TRACE_VERSION

BROKERS_MAX = 1000
"""A run that tells of more is not looked through for each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What `RunStarted` says of its run that decides whether the run can be judged."""

    brokers: int | None = None
    trace_version: int | None = None
    dialect: str = SPEC.name
    """Of the implementation, by which its checks go."""
    observed: Observations = field(default_factory=lambda: dict(EVERYTHING))
    """Of the implementation, and how faithfully."""


def unfit_of(folder: str, files: Sequence[FileHealth], told: Told) -> tuple[str, ...]:
    """Why the run decides nothing about the implementation, one sentence each."""
    title = run_title(folder)
    runs = sorted({run_id for file in files for run_id in file.run_ids})
    doubled = [file.file for file in files if file.doubled_lines]
    version = told.trace_version
    reasons = {
        f"{title} was written as trace version {version}; "
        f"this Fencepost reads version {TRACE_VERSION}.": version not in (None, TRACE_VERSION),
        f"{title} holds the lines of {len(runs)} runs, {' and '.join(runs[:2])}"
        f"{', and more' if len(runs) > 2 else ''}.": len(runs) > 1,
        f"{title} cannot be judged: lines of {', '.join(doubled)} occur twice.": bool(doubled),
    }
    return tuple(reason for reason, holds in reasons.items() if holds)


def unheard_of(folder: str, files: Sequence[FileHealth], told: Told) -> tuple[str, ...]:
    """The brokers without a trace that should have one, one sentence each.

    Only what clients saw decides then.
    """
    if not OF_BROKERS & told.observed.keys():
        return ()
    title = run_title(folder)
    missing = _missing_brokers(files, told.brokers)
    return tuple(f"{title} has no trace of broker {broker_id}." for broker_id in missing)


def _missing_brokers(files: Sequence[FileHealth], brokers: int | None) -> list[int]:
    """The brokers, of 1 to `brokers`, that no line of the run comes from."""
    heard = {node for file in files for node in file.nodes}
    expected = range(1, min(brokers or 0, BROKERS_MAX) + 1)
    return [broker_id for broker_id in expected if f"broker-{broker_id}" not in heard]


def damage_of(folder: str, files: Sequence[FileHealth]) -> tuple[str, ...]:
    """One sentence per defect, by file; none when every line of every file was read."""
    where = "" if folder == "." else f"{folder}/"
    ordered = sorted(files, key=_name)
    told = (sentence for file in ordered for sentence in _defects(f"{where}{file.file}", file))
    return tuple(sentence for sentence in told if sentence)


def _name(file: FileHealth) -> str:
    return file.file


def _defects(name: str, file: FileHealth) -> tuple[str, ...]:
    first = f", the first at line {file.foreign_examples[0]}" if file.foreign_examples else ""
    foreign = f"{count(file.foreign_lines, 'line')} of {name} cannot be read{first}."
    lost = f"By the numbers of its lines, {name} lacks {count(file.missing_lines, 'event')}."
    doubled = f"By the numbers of its lines, {name} has {count(file.doubled_lines, 'event')} twice."
    return (
        foreign if file.foreign_lines else "",
        f"{name} ends in the middle of a line." if file.torn_lines else "",
        lost if file.missing_lines else "",
        doubled if file.doubled_lines else "",
        f"{name} is empty." if not file.lines and not file.torn_lines else "",
    )
