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
        self._files: dict[int, list[Path]] = {}

    def write(self, rows: pa.Table, numbers: Numbers) -> None:
        """Each row goes to the table of its number, from 0 up to `NUMBERS_MAX`."""
        order = np.argsort(numbers.astype(np.uint16), kind="stable")  # sorts by radix
        rows, numbers = rows.take(pa.array(order)), numbers[order]
        bounds = np.flatnonzero(np.diff(numbers, prepend=-1, append=-1))
        for start, end in pairwise(bounds.tolist()):
            self._writer(int(numbers[start])).write_table(rows.slice(start, end - start))

    def close(self) -> None:
        """All that was written is on disk; what is written later goes to other files."""
        for writer in self._open.values():
            writer.close()
        self._open = {}

    def join(self, other: "Spill") -> None:
        """What the other one has is here, too."""
        for number, files in other._files.items():
            self._files.setdefault(number, []).extend(files)

    def __iter__(self) -> Iterator[pa.Table]:
        """The tables, by number; what is written later is in none."""
        for number in sorted(self._files):
            yield self.read(number)

    def read(self, number: int) -> pa.Table:
        """The table of a number."""
        self.close()
        tables = [self._schema.empty_table()]
        for path in self._files.get(number, ()):
            with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as rows:
                tables.append(rows.read_all())
        return pa.concat_tables(tables)

    def _writer(self, number: int) -> pa.RecordBatchStreamWriter:
        if number not in self._open:
            files = self._files.setdefault(number, [])
            files.append(self._folder / f"{number}-{len(files)}.arrows")
            self._open[number] = pa.ipc.new_stream(str(files[-1]), self._schema)
        return self._open[number]
