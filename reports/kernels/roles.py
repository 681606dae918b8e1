"""`ActsInItsRole` over all partitions of a bucket at once.

A columnar twin of `conformance.checks.acts_in_its_role`: of each line of a replica, the last one
before it that gave or ended its role, and whether its leader has fenced itself since.
"""

from typing import NamedTuple

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
    acts = rows.is_action(*JUDGED) & ~rows.is_action(*ROLES, *ENDS)
    return Found(rows.per_partition(acts), rows.per_partition_of(misplaced_acts(rows)) > 0)


def misplaced_acts(rows: BucketRows) -> Numbers:
    """The rows of what leaders and followers do without the role for it."""
    row, process = rows.by_process(rows.is_action(*JUDGED))
    if not len(row):
        return row
    gives, leads = rows.is_action(*ROLES, *ENDS)[row], rows.is_action(*AS_LEADER)[row]
    epoch, role = rows.numbers("leader_epoch")[row], _Last.of(gives)
    is_right = (role.told(process) == process) & (role.told(epoch) == epoch)
    is_right &= (leads & role.told(rows.is_action(Action.BECOME_LEADER)[row])) | (
        ~leads & role.told(rows.is_action(Action.BECOME_FOLLOWER)[row])
    )
    is_right[: role.lengths[0]] = False
    fence = _Last.of(rows.is_action(Action.FENCE_LEADER)[row])
    if len(fence.places):
        place = np.arange(len(row))
        is_fenced = fence.told(place) > role.told(place)
        is_fenced[: fence.lengths[0]] = False
        is_right &= ~(rows.is_action(*ONLY_UNFENCED)[row] & is_fenced)
    return row[np.flatnonzero(~gives & ~is_right)]


class _Last(NamedTuple):
    """For each place the last marked one up to it."""

    places: Numbers
    """That are marked."""
    lengths: Numbers
    """How many places come before the first one, and from each up to the next."""

    @classmethod
    def of(cls, marked: Mask) -> "_Last":
        places = np.flatnonzero(marked)
        return cls(places, np.diff(places, prepend=0, append=len(marked)))

    def told(self, numbers: Numbers | Mask) -> Numbers | Mask:
        """What the marked one tells; before the first, anything."""
        return np.repeat(numbers[np.append(0, self.places)], self.lengths)
