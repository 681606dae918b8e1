"""The shares of several machines as one run: records joined, traces side by side.

A check is vacuous only where no share put it to the test, so simulated checks are judged again.
Whatever reads all traces, as the analysis does, runs after this, over all of them.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.ci.exit_codes import INTERRUPTED
from fencepost.ci.gate.failures import HarnessError, UsageError
from fencepost.ci.gate.runs import require_folder
from fencepost.ci.gate.session import SessionFile, read_session
from fencepost.ci.gate.shards import Shard
from fencepost.ci.gate.stages import stages_of
from fencepost.ci.gate.verdict_files import GateStage, StageRecord, overall
from fencepost.ci.results.cases import SKIPPED
from fencepost.ci.results.stored_run import read_stages, read_verdict
from fencepost.conformance.verdict import SHOWN, Verdict, worst
from fencepost.conformance.whitebox.simulate import ENOUGH_SEEDS
from fencepost.reports.page.words import count, listing

SAME = ("tier", "level", "seed", "zookeeper", "target", "program")
"""What all shares were asked for alike."""
TRACES = ("simulate", "chaos", "canary")
RATES = frozenset({"events_per_second", "replayed_events_per_second"})
"""Figures of one machine: their sum says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineShare:
    """What one machine left."""

    folder: Path
    shard: Shard
    session: SessionFile
    records: tuple[StageRecord, ...]


def read_shares(folders: Sequence[Path]) -> list[MachineShare]:
    """The shares in their order; raises `UsageError` unless they are all of one gate, each once.

    Raises `HarnessError` for one that did not end.
    """
    shares = sorted(map(_read_share, folders), key=lambda share: share.shard.number)
    first = shares[0]
    for share in shares:
        for name in ("shard", *SAME):
            _require_alike(first, share, name)
    numbers = Counter(share.shard.number for share in shares)
    if twice := [number for number, times in numbers.items() if times > 1]:
        raise UsageError(f"share {twice[0]}/{first.shard.of} is given twice; give each once")
    if missing := sorted(set(range(1, first.shard.of + 1)) - set(numbers)):
        told = ", ".join(f"{number}/{first.shard.of}" for number in missing)
        raise UsageError(f"share {told} is missing; a gate is judged as a whole")
    return shares


def _read_share(folder: Path) -> MachineShare:
    require_folder(folder)
    session = read_session(folder)
    shard, records = Shard.parse(session.shard), read_stages(folder)
    if shard.is_whole:
        raise UsageError(f"{folder} is a whole gate and no share of one; give runs of --shard")
    owed = {stage.name for stage in stages_of(shard) if stage.in_report}
    ended = {record.stage for record in records if record.verdict is not Verdict.NOT_RUN}
    if read_verdict(folder).get("exit_code", INTERRUPTED) == INTERRUPTED or owed - ended:
        raise HarnessError(
            f"share {shard} in {folder} did not end; go on with it by gate --resume {folder}"
        )
    return MachineShare(folder=folder, shard=shard, session=session, records=tuple(records))


def _require_alike(first: MachineShare, other: MachineShare, name: str) -> None:
    if name == "shard":
        one, two = f"of {first.shard.of}", f"of {other.shard.of}"
    else:
        one, two = str(getattr(first.session, name)), str(getattr(other.session, name))
    if one != two:
        raise UsageError(
            f"{first.folder} and {other.folder} are no shares of one gate: {name} is "
            f"{one[:40]} and {two[:40]}"
        )


def join_stages(shares: Sequence[MachineShare], stages: Iterable[GateStage]) -> list[StageRecord]:
    """One record per stage that some share ran, in the order of the stages."""
    joined = []
    for stage in stages:
        parts = [(share, r) for share in shares for r in share.records if r.stage == stage.name]
        if parts:
            joined.append(_joined(stage.name, parts))
    return joined


def _joined(name: str, parts: Sequence[tuple[MachineShare, StageRecord]]) -> StageRecord:
    records = [record for _, record in parts]
    detail = _joined_detail(records)
    figures = _sums(record.figures for record in records)
    verdicts = [overall(records)]
    if name == "simulate":
        detail["checks"] = together(detail.get("checks", []))
        verdicts += [Verdict(row["verdict"]) for row in detail["checks"]]
    found = worst(verdicts)
    bad = [f"{s.shard}: {r.summary}" for s, r in parts if r.verdict not in SHOWN | SKIPPED]
    told = listing([f"{value:,} {name.replace('_', ' ')}" for name, value in _numbers(figures)])
    return StageRecord(
        stage=name,
        verdict=found,
        seconds=max(record.seconds for record in records),
        summary="; ".join([f"{count(len(parts), 'share')}: {told or records[0].summary}", *bad]),
        figures=figures,
        detail=detail,
    )


def _joined_detail(records: Sequence[StageRecord]) -> dict[str, Any]:
    """Lists end to end, numbers as sums, and what is the same everywhere as it is."""
    detail: dict[str, Any] = {}
    for record in records:
        for key, value in record.detail.items():
            if isinstance(value, list):
                detail[key] = [*detail.get(key, []), *value]
            elif isinstance(value, dict):
                detail[key] = {**detail.get(key, {}), **value}
            elif key == "seeds":
                detail[key] = detail.get(key, 0) + value
            else:
                detail[key] = value
    return detail


def together(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of each check and level as one, judged by what all seeds showed."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["name"], row["level"]), []).append(row)
    return [one for own in groups.values() if (one := _one_check(own))]


def _one_check(own: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    violated = [row for row in own if row["verdict"] == Verdict.FAIL]
    sums = {
        name: sum(row[name] for row in own) for name in ("premises", "seeds", "violating_seeds")
    }
    if violated:
        return {**violated[0], **sums}
    if sums["premises"]:
        return {**own[0], **sums, "verdict": str(Verdict.PASS), "message": ""}
    if sums["seeds"] < ENOUGH_SEEDS:
        return None
    return {**own[0], **sums, "verdict": str(Verdict.VACUOUS)}


def _sums(all_figures: Iterable[dict[str, Any]]) -> dict[str, Any]:
    summed: dict[str, Any] = {}
    for figures in all_figures:
        for name, value in figures.items():
            if name in RATES:
                continue
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            summed[name] = summed.get(name, 0) + value if is_number else value
    return summed


def _numbers(figures: dict[str, Any]) -> list[tuple[str, int]]:
    return [(name, value) for name, value in sorted(figures.items()) if type(value) is int]


def join_traces(shares: Sequence[MachineShare], folder: Path) -> None:
    """The traces of all shares lie below `folder`, as those of one gate do."""
    for share in shares:
        for name in TRACES:
            source = share.folder / name
            if source.is_dir():
                shutil.copytree(
                    source, folder / name, copy_function=_link_or_copy, dirs_exist_ok=True
                )


def _link_or_copy(source: str, target: str) -> None:
    """A file that is there already would be of two shares: that is refused."""
    if os.path.lexists(target):
        raise HarnessError(f"{target} is in two shares; they are not of one gate")
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
