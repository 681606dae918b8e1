"""`MinInsyncReplicas` over all partitions of a bucket at once.

A columnar twin of `conformance.checks.min_insync_replicas`. Where two lines name other acks for one
record, or one record is of two partitions, it leaves the partition to the definition.
"""

import numpy as np

from fencepost.conformance.checks.min_insync_replicas import TELLS_ISR
from fencepost.reports.kernels.bucket_rows import UNTOLD, BucketRows, Found, Mask
from fencepost.spec.vocabulary import Action


def judge_appends(rows: BucketRows, least: int) -> Found:
    """What is found where the run asks for `least` replicas in sync, more than one."""
    told = rows.is_action(*TELLS_ISR, Action.LEADER_APPEND) & rows.is_kind("action")
    row, process = rows.by_process(told)
    tells = rows.is_action(*TELLS_ISR)[row]
    place = np.arange(len(row))
    last = np.maximum.accumulate(np.where(tells, place, -1))
    has_one = last >= 0
    has_one[has_one] = process[last[has_one]] == process[has_one]
    known = row[last]
    for_all, suspicious = _for_all(rows)
    judged = ~tells & has_one & rows.is_told("isr")[known] & for_all[row]
    partition = rows.partition[row]
    small = judged & (rows.lengths("isr")[known] < least)
    suspicious |= np.bincount(partition[small], minlength=rows.count) > 0
    return Found(np.bincount(partition[judged], minlength=rows.count), suspicious)


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
