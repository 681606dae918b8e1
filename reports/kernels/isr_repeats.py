"""`LeaderInIsr` over a bucket: an advance under the ISR of the advance before it tells nothing new.

`conformance.checks.leader_in_isr` judges what is left when such repeats are taken out: between the
two its broker told of no other ISR, and wanted none, so each repeat is as right as the first.
"""

import numpy as np

from fencepost.conformance.checks.leader_in_isr import ASKS, DECIDES
from fencepost.conformance.checks.registry import CHECKS
from fencepost.reports.kernels.bucket_rows import UNTOLD, BucketRows, Mask, Numbers, filled
from fencepost.reports.tables.schema import as_array
from fencepost.spec.vocabulary import NO_BROKER, Action, Invariant


def repeated_advances(rows: BucketRows) -> Mask:
    """The rows that can be taken out."""
    read = rows.is_action(*CHECKS[Invariant.LEADER_IN_ISR].reads) & rows.is_kind("action")
    row, process = rows.by_process(read)
    advance = rows.is_action(Action.ADVANCE_HIGH_WATERMARK)[row]
    is_same = advance & np.roll(advance, 1) & _as_before(process)
    is_same &= _as_before(rows.numbers("broker_id")[row])
    for name in ("isr", "maximal_isr"):
        is_same &= _as_before(rows.is_told(name)[row]) & _lists_as_before(rows, name, row)
    is_same[:1] = False
    found = np.zeros(len(rows.partition), np.bool_)
    found[row[is_same]] = True
    return found


def premises_of(rows: BucketRows, repeats: Mask) -> Numbers:
    """How many ISRs that have a leader the repeats of each partition tell."""
    broker = rows.numbers("broker_id")
    is_led = (broker != UNTOLD) & (broker != NO_BROKER)
    return rows.per_partition(repeats & is_led & (rows.lengths("isr") > 0))


def is_asked_for(rows: BucketRows) -> Mask:
    """The rows between what asks for another ISR and what decides about it."""
    row, process = rows.by_process(rows.is_kind("action"))
    asks, decides = rows.is_action(*ASKS)[row], rows.is_action(*DECIDES)[row]
    place = np.arange(len(row))
    last = np.maximum.accumulate(np.where(asks | decides, place, -1))
    found = np.zeros(len(rows.partition), np.bool_)
    found[row] = (last >= 0) & asks[last] & (process[last] == process)
    return found


def _as_before(numbers: Numbers | Mask) -> Mask:
    return np.asarray(numbers == np.roll(numbers, 1))


def _lists_as_before(rows: BucketRows, name: str, row: Numbers) -> Mask:
    """Rows, in this order, with the same list as the one before."""
    lists = as_array(rows.table.column(name).take(row))
    members, lengths = filled([lists.flatten()], UNTOLD), rows.lengths(name)[row]
    owner = np.repeat(np.arange(len(row)), lengths)
    before = np.arange(len(members)) - lengths[owner]  # where lists are equally long
    differs = owner[np.flatnonzero(members != members[before])]
    return np.asarray(_as_before(lengths) & (np.bincount(differs, minlength=len(row)) == 0))
