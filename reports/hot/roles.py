"""Checks of what replicas may do in their role, and under which ISR, piece by piece.

All that gives a role or an ISR is few, and among the rows of each piece. So what is found of a
piece is what is found of its own lines and of the few, and these are counted once.
"""

import numpy as np
import pyarrow as pa

from fencepost.conformance.checks.registry import CHECKS
from fencepost.reports.kernels.bucket_rows import UNTOLD, BucketRows
from fencepost.reports.kernels.insync_appends import appends_with_isr
from fencepost.reports.kernels.isr_repeats import premises_of, repeated_advances
from fencepost.reports.kernels.roles import judge_roles
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant


class Roles:
    """What is known after the pieces that were seen."""

    def __init__(self, few: BucketRows, least: int) -> None:
        """`few`: the lines that are few, and no others; `least`: replicas that must be in sync."""
        of_few = judge_roles(few)
        self._of_few = int(of_few.premises.sum())
        self._events: list[TraceEvent] = list(few.few)
        self._few = len(self._events)
        self._repeats = 0
        self._least = least
        self.acts = self._of_few
        """The premises of `ActsInItsRole`."""
        self.is_misplaced = bool(of_few.suspicious.any())
        """Something is done without its role."""
        self.appends = 0
        """The premises of `MinInsyncReplicas`, where all is written for acks=all."""
        self.has_own_least = bool(few.is_told("min_insync_replicas").any())
        """The partition tells of its own limit."""
        self.small: set[str] = set()
        """Records that a leader appends under an ISR that is too small."""
        self.is_mixed = False
        """Something is written for other acks than all."""

    def see(self, rows: BucketRows) -> None:
        """The lines of one piece, and all that are few."""
        found = judge_roles(rows)
        self.acts += int(found.premises.sum()) - self._of_few
        self.is_misplaced |= bool(found.suspicious.any())
        self._see_advances(rows)
        self.has_own_least |= bool(rows.is_told("min_insync_replicas").any())
        if self._least > 1:
            self._see_appends(rows)

    def _see_advances(self, rows: BucketRows) -> None:
        repeats = repeated_advances(rows)
        self._repeats += int(premises_of(rows, repeats).sum())
        self._events.extend(rows.of(rows.is_action(Action.ADVANCE_HIGH_WATERMARK) & ~repeats))

    def _see_appends(self, rows: BucketRows) -> None:
        acks, lengths = rows.numbers("acks"), rows.lengths("values")
        self.is_mixed |= bool(((acks != UNTOLD) & (acks != -1) & (lengths > 0)).any())
        row, known = appends_with_isr(rows)
        row, known = row[lengths[row] > 0], known[lengths[row] > 0]
        self.appends += len(row)
        small = row[rows.lengths("isr")[known] < self._least]
        own = np.isin(rows.values.row, small)
        self.small.update(rows.records.take(pa.array(rows.values.code[own])).to_pylist())

    def join(self, other: "Roles") -> None:
        """What the other one has seen is seen here, too; both were given the same few."""
        self._events.extend(other._events[other._few :])
        self._repeats += other._repeats
        self.acts += other.acts - self._of_few
        self.is_misplaced |= other.is_misplaced
        self.appends += other.appends
        self.has_own_least |= other.has_own_least
        self.small |= other.small
        self.is_mixed |= other.is_mixed

    def in_isr(self) -> tuple[int, bool]:
        """The premises of `LeaderInIsr`, and whether it is violated or in doubt."""
        result = CHECKS[Invariant.LEADER_IN_ISR].judge(self._events)
        return self._repeats + result.premise_count, bool(result.violations or result.doubts)
