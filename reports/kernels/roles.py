"""`ActsInItsRole` over all partitions of a bucket at once.

A columnar twin of `conformance.checks.acts_in_its_role`: of each line of a replica, the last one
before it that gave or ended its role, and whether its leader has fenced itself since.
"""

import numpy as np

from fencepost.conformance.checks.acts_in_its_role import (
    AS_LEADER,
    ENDS,
    JUDGED,
    ONLY_UNFENCED,
    ROLES,
)
from fencepost.reports.kernels.bucket_rows import BucketRows, Found, Mask, Numbers
from fencepost.spec.vocabulary import Action


def judge_roles(rows: BucketRows) -> Found:
    """What is found of each partition."""
    acts, misplaced = acts_of(rows)
    return Found(rows.per_partition_of(acts), rows.per_partition_of(misplaced) > 0)


def acts_of(rows: BucketRows) -> tuple[Numbers, Numbers]:
    """The rows of what leaders and followers do, and those of them without the role for it."""
    row, process = rows.by_process(rows.is_action(*JUDGED))
    gives = rows.is_action(*ROLES, *ENDS)[row]
    role = _last(gives)
    has_one = (role >= 0) & (process[role] == process)
    told, leads = row[role], rows.is_action(*AS_LEADER)[row]
    needed = (leads & rows.is_action(Action.BECOME_LEADER)[told]) | (
        ~leads & rows.is_action(Action.BECOME_FOLLOWER)[told]
    )
    epoch = rows.numbers("leader_epoch")
    is_right = has_one & needed & (epoch[row] == epoch[told])
    fence = _last(rows.is_action(Action.FENCE_LEADER)[row])
    is_right &= ~(rows.is_action(*ONLY_UNFENCED)[row] & (fence > role))
    return row[np.flatnonzero(~gives)], row[np.flatnonzero(~gives & ~is_right)]


def _last(marked: Mask) -> Numbers:
    """For each place the last marked one up to it, -1 where none is."""
    places = np.flatnonzero(marked)
    last = np.full(len(marked), -1)
    last[places] = places
    return np.maximum.accumulate(last)
