"""What differs between the cases of two runs."""

from collections.abc import Iterator, Mapping, Sequence

from fencepost.ci.results.cases import Case, CaseGroup
from fencepost.ci.results.stored_run import PastRun
from fencepost.conformance.verdict import SHOWN
from fencepost.reports.page.comparison import ORDER, CaseChange, ChangeKind, RunComparison

SLOWER_FACTOR = 1.5
SLOWER_S = 5.0
"""A case is slower when it took this much more, and by that factor: less is what machines do."""

Key = tuple[str, str]
"""Group and name of a case."""


def compare(before: PastRun, after: PastRun) -> RunComparison:
    """Case by case, first what is new; stages are compared by their times, too."""
    old, new = _by_key(before.groups), _by_key(after.groups)
    found = [one for key in dict.fromkeys((*old, *new)) for one in _changes(key, old, new)]
    found += _slower_groups(before.groups, after.groups)
    touched = {(one.group, one.name) for one in found}
    return RunComparison(
        before=str(before.folder),
        after=str(after.folder),
        changes=tuple(sorted(found, key=lambda one: ORDER.index(one.change))),
        alike=sum(1 for key in old if key in new and key not in touched),
        notes=tuple(_notes(before, after)),
    )


def _by_key(groups: Sequence[CaseGroup]) -> dict[Key, Case]:
    return {(group.name, case.name): case for group in groups for case in group.cases}


def _changes(key: Key, old: Mapping[Key, Case], new: Mapping[Key, Case]) -> Iterator[CaseChange]:
    before, after = old.get(key), new.get(key)
    was_broken = before is not None and before.is_broken
    if after is not None and after.is_broken:
        yield _change(ChangeKind.STILL if was_broken else ChangeKind.NEW, key, before, after)
        return
    is_shown = after is not None and after.verdict in SHOWN
    if was_broken and is_shown:
        yield _change(ChangeKind.FIXED, key, before, after)
    if before is not None and (was_broken or before.verdict in SHOWN) and not is_shown:
        yield _change(ChangeKind.GONE, key, before, after)
    if before and after and is_shown and _is_slower(before.seconds, after.seconds):
        yield _change(ChangeKind.SLOWER, key, before, after)


def _change(change: ChangeKind, key: Key, before: Case | None, after: Case | None) -> CaseChange:
    is_told = after is not None and change in {ChangeKind.NEW, ChangeKind.STILL, ChangeKind.GONE}
    return CaseChange(
        change=change,
        group=key[0],
        name=key[1],
        before=before.verdict if before else None,
        after=after.verdict if after else None,
        seconds_before=before.seconds if before else 0.0,
        seconds_after=after.seconds if after else 0.0,
        message=after.message if after and is_told else "",
        again=after.again if after and is_told else "",
    )


def _slower_groups(before: Sequence[CaseGroup], after: Sequence[CaseGroup]) -> Iterator[CaseChange]:
    old = {group.name: group.seconds for group in before}
    for group in after:
        if group.name in old and _is_slower(old[group.name], group.seconds):
            yield CaseChange(
                change=ChangeKind.SLOWER,
                group=group.name,
                name="the whole stage",
                before=None,
                after=None,
                seconds_before=old[group.name],
                seconds_after=group.seconds,
            )


def _is_slower(before: float, after: float) -> bool:
    return after - before > SLOWER_S and after > before * SLOWER_FACTOR


def _notes(before: PastRun, after: PastRun) -> Iterator[str]:
    """What makes the runs hard to compare; what is the same in both says nothing."""
    for name, was in before.settings.items():
        now = after.settings.get(name, was)
        if was != now:
            yield f"{name} was {was} and is {now}"
