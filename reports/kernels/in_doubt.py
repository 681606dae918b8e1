"""Stage two: the events that the definitions are given of partitions in doubt.

Those of all partitions of a bucket are read in one go, and turned into objects for one partition
after the other. They are the lines that its checks in doubt read; of clients' operations only those
that decide.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from fencepost.conformance.checks.registry import CHECKS
from fencepost.conformance.verdict import CheckResult
from fencepost.reports.kernels.bucket_rows import BucketRows, Mask, Numbers
from fencepost.reports.kernels.client_logs import operations_of
from fencepost.reports.kernels.client_witnesses import Deciding, deciding
from fencepost.reports.tables.schema import from_table
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant

OF_CLIENTS = (Invariant.LINEARIZABLE_LOG, Invariant.ACKNOWLEDGED_DURABLE)


class InDoubt:
    """The partitions of a bucket that the kernels leave to the definitions."""

    def __init__(
        self, rows: BucketRows, suspicious: Mapping[Invariant, Mask], *, by_kernels: bool
    ) -> None:
        """`by_kernels`: they have looked at the bucket; else the definitions are given all."""
        self._all_rows = rows
        self._all_suspicious = suspicious
        self._by_kernels = by_kernels

    def events(self, code: int) -> list[TraceEvent]:
        """What its checks in doubt are given, in the order of their lines; nothing without one."""
        if not any(own[code] for own in self._all_suspicious.values()):
            return []
        table, partition = self._table
        return from_table(table.filter(pa.array(partition == self._own_code(code))))

    def counted(self, result: CheckResult, code: int) -> CheckResult:
        """The result with the premises of all rows, where the definition was given only some."""
        own = self._own_code(code)
        if result.invariant is not Invariant.LINEARIZABLE_LOG or not self._is_known[own]:
            return result
        return replace(result, premise_count=int(self._deciding.answers[own]))

    @cached_property
    def _rows(self) -> BucketRows:
        """Those of partitions in doubt: what is well is not looked at again."""
        return self._all_rows.only(np.logical_or.reduce([*self._all_suspicious.values()]))

    def _own_code(self, code: int) -> int:
        """Among these rows."""
        return self._rows.partitions.index(self._all_rows.name(code))

    @cached_property
    def _suspicious(self) -> Mapping[Invariant, Mask]:
        codes = [self._all_rows.partitions.index(name) for name in self._rows.partitions]
        return {name: suspicious[codes] for name, suspicious in self._all_suspicious.items()}

    @cached_property
    def _deciding(self) -> Deciding:
        return deciding(self._rows, operations_of(self._rows))

    @cached_property
    def _is_known(self) -> Mask:
        """Partitions of which it is known which operations decide."""
        if self._by_kernels:
            return self._deciding.is_known
        return np.zeros(self._rows.count, np.bool_)

    @cached_property
    def _table(self) -> tuple[pa.Table, Numbers]:
        wanted = np.zeros(len(self._rows.partition), np.bool_)
        for invariant, suspicious in self._suspicious.items():
            if not suspicious.any():
                continue
            read = self._rows.is_action(*CHECKS[invariant].reads)
            own = read & suspicious[self._rows.partition]
            if invariant in OF_CLIENTS:
                own &= self._may_decide
            wanted |= own
        return self._rows.kept(wanted), self._rows.partition[wanted]

    @cached_property
    def _may_decide(self) -> Mask:
        """Of clients' operations."""
        if self._by_kernels:
            return self._deciding.rows | ~self._is_known[self._rows.partition]
        return np.ones(len(self._rows.partition), np.bool_)
