"""`MinInsyncReplicas` over all partitions of a bucket at once.

A columnar twin of `conformance.checks.min_insync_replicas`. Where two lines name other acks for one
record, or one record is of two partitions, it leaves the partition to the definition.
"""

import numpy as np

from fencepost.conformance.checks.min_insync_replicas import TELLS_ISR
from fencepost.reports.kernels.bucket_rows import UNTOLD, BucketRows, Found, Mask, Numbers
from fencepost.spec.vocabulary import Action


def judge_appends(rows: BucketRows, least: int) -> Found:
    """What is found where the run asks for `least` replicas in sync, more than one."""
    row, known = appends_with_isr(rows)
    for_all, suspicious = _for_all(rows)
    row, known = row[for_all[row]], known[for_all[row]]
    small = row[rows.lengths("isr")[known] < least]
    suspicious |= rows.per_partition_of(small) > 0
    return Found(rows.per_partition_of(row), suspicious)


def appends_with_isr(rows: BucketRows) -> tuple[Numbers, Numbers]:
    """The rows of appends of leaders with an ISR that is told, and those that tell it."""
    told = rows.is_action(*TELLS_ISR, Action.LEADER_APPEND) & rows.is_kind("action")
    row, process = rows.by_process(told)
    tells = rows.is_action(*TELLS_ISR)[row]
    place = np.arange(len(row))
    last = np.maximum.accumulate(np.where(tells, place, -1))
    has_one = last >= 0
    has_one[has_one] = process[last[has_one]] == process[has_one]
    known = row[last]
    judged = ~tells & has_one & rows.is_told("isr")[known]
    return row[judged], known[judged]


def _for_all(rows: BucketRows) -> tuple[Mask, Mask]:
    """The rows with a record that was produced for acks=all, and suspicious partitions."""
    row, _, code = rows.values
    codes = int(code.max(initial=-1)) + 1
    acks, partition = rows.numbers("acks")[row], rows.partition[row]
    told = acks != UNTOLD
    acks_of, origin = np.full(codes, UNTOLD), np.full(codes, -1)
    acks_of[code[told]] = acks[told]
    origin[code[told]] = partition[told]
    is_known = acks_of[code] != UNTOLD
    differs = (told & (acks_of[code] != acks)) | (is_known & (origin[code] != partition))
    suspicious = np.bincount(partition[differs], minlength=rows.count) > 0
    records = np.bincount(row[acks_of[code] == -1], minlength=len(rows.partition))
    return records > 0, np.asarray(suspicious)
