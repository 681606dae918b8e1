"""What broke: the story of one run that violated something, from its first violation on."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from fencepost.reports.analysis.evidence import ViolationContext
from fencepost.reports.analysis.folder_report import CheckOutcome, FolderReport
from fencepost.reports.analysis.replicas import ReplicaState
from fencepost.reports.page.charts import colour
from fencepost.reports.page.spacetime import kinds_of, spacetime_picture
from fencepost.reports.page.views import (
    Alike,
    Broken,
    BrokenCheck,
    FileLink,
    RecordMark,
    ReplicaRow,
    StepGroup,
    StepRow,
)
from fencepost.reports.page.words import (
    PROMISES,
    alike,
    anchor,
    at,
    count,
    gravity,
    inside,
    seconds,
)

T = TypeVar("T")


def story_of(folder: FolderReport, files: tuple[FileLink, ...] = ()) -> Broken:
    """The story of a run in which at least one check failed."""
    failed = sorted(folder.failed, key=lambda check: gravity(check.invariant))
    first = min(failed, key=_instant)
    evidence = first.evidence
    assert evidence is not None
    title = f"Events around the violation in {inside(folder.title)}"
    return Broken(
        anchor=anchor("run", folder.name),
        title=folder.title,
        headline=failed[0].violations[0].message,
        facts=facts_of(folder),
        reproduce=folder.reproduce,
        first=evidence.message,
        witness=evidence.witness,
        first_invariant=str(first.invariant),
        at=at(evidence.at_ns),
        before=evidence.before,
        replicas=_replica_rows(evidence),
        diagram=spacetime_picture(evidence, title),
        narrow_diagram=spacetime_picture(evidence, title, is_narrow=True),
        steps=tuple(_step_groups(folder.name, evidence)),
        checks=tuple(_broken_check(check) for check in failed),
        files=files,
    )


def _instant(check: CheckOutcome) -> int:
    assert check.evidence is not None
    return check.evidence.at_ns


def _broken_check(check: CheckOutcome) -> BrokenCheck:
    return BrokenCheck(
        invariant=check.invariant,
        promise=PROMISES[check.invariant],
        groups=tuple(
            Alike(first=found[0], others=tuple(found[1:]))
            for found in grouped(check.violations, lambda one: alike(one.message))
        ),
        omitted=check.omitted_violations,
    )


def grouped(rows: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """The rows with equal keys together, each where the first of them was."""
    found: dict[Hashable, list[T]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return list(found.values())


def _step_groups(run: str, evidence: ViolationContext) -> Iterator[StepGroup]:
    hidden, rows = 0, list[StepRow]()
    for step in evidence.steps:
        row = StepRow(
            anchor=anchor("event", run, step.event),
            time=at(step.at_ns),
            node=step.node,
            text=step.text,
            kinds=kinds_of(step),
            is_proof=step.is_witness,
        )
        hidden += step.left_out + (not step.is_main)
        if step.is_main:
            yield StepGroup(hidden=hidden, rows=tuple(rows), step=row)
            hidden, rows = 0, []
        else:
            rows.append(row)
    if hidden + evidence.left_out_after:
        yield StepGroup(hidden=hidden + evidence.left_out_after, rows=tuple(rows), step=None)


def facts_of(folder: FolderReport) -> str:
    """Where a run took place, in a line."""
    where = {"sim": "in the simulator", "real": "on real processes and ZooKeeper"}
    facts = [
        where.get(folder.backend, ""),
        "" if folder.level is None else f"protocol level {folder.level}",
        "" if folder.seed is None else f"seed {folder.seed}",
        count(folder.events, "event"),
        seconds(folder.duration_ns / 1e9),
    ]
    return " · ".join(fact for fact in facts if fact)


def _replica_rows(evidence: ViolationContext) -> tuple[ReplicaRow, ...]:
    held: dict[int, set[str]] = {}
    for replica in evidence.replicas:
        for record in replica.last_records:
            held.setdefault(record.offset, set()).add(record.value)
    return tuple(
        ReplicaRow(
            broker_id=replica.broker_id,
            colour=colour(replica.broker_id),
            process=replica.process,
            role=replica.role,
            leader=_known(replica.leader),
            leader_epoch=_known(replica.leader_epoch),
            isr=" ".join(str(member) for member in replica.isr) or "—",
            high_watermark=_known(replica.high_watermark),
            log_end_offset=_known(replica.log_end_offset),
            records=_marks(replica, held),
        )
        for replica in evidence.replicas
    )


def _marks(replica: ReplicaState, held: dict[int, set[str]]) -> tuple[RecordMark, ...]:
    marks = [
        RecordMark(
            offset=record.offset,
            value=record.value,
            leader_epoch=record.leader_epoch,
            differs=len(held[record.offset]) > 1,
        )
        for record in replica.last_records
    ]
    beyond = [offset for offset in sorted(held) if offset >= replica.log_end_offset >= 0]
    marks += [
        RecordMark(offset=offset, value="", leader_epoch=-1, differs=False, is_missing=True)
        for offset in beyond
    ]
    return tuple(marks)


def _known(number: int) -> str:
    return "—" if number < 0 else str(number)
