"""Tables on disk by number: what is written under one number, whenever, is read together."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from fencepost.reports.kernels.bucket_rows import Numbers

NUMBERS_MAX = 200
"""Files that are open at a time."""


class Spill:
    """The tables of one kind below a folder, all with the same columns."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._schema = schema
        self._open: dict[int, pa.RecordBatchStreamWriter] = {}

    def write(self, rows: pa.Table, numbers: Numbers) -> None:
        """Each row goes to the table of its number, from 0 up to `NUMBERS_MAX`."""
        order = np.argsort(numbers.astype(np.uint16), kind="stable")  # sorts by radix
        rows, numbers = rows.take(pa.array(order)), numbers[order]
        bounds = np.flatnonzero(np.diff(numbers, prepend=-1, append=-1))
        for start, end in pairwise(bounds.tolist()):
            self._writer(int(numbers[start])).write_table(rows.slice(start, end - start))

    def __iter__(self) -> Iterator[pa.Table]:
        """The tables, by number; what is written later is in none."""
        for number in sorted(self._open):
            yield self.read(number)

    def read(self, number: int) -> pa.Table:
        """The table of a number; what is written later is not in it."""
        if number not in self._open:
            return self._schema.empty_table()
        self._open[number].close()
        with pa.OSFile(str(self._path(number))) as source, pa.ipc.open_stream(source) as rows:
            return rows.read_all()

    def _writer(self, number: int) -> pa.RecordBatchStreamWriter:
        if number not in self._open:
            self._open[number] = pa.ipc.new_stream(str(self._path(number)), self._schema)
        return self._open[number]

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.arrows"
