"""Tasks on executors that work on a folder: each has seen that it is the driver's folder.

An executor on another machine may have an empty folder of the same name, and would read nothing
there or write where it is never found. A mark in the folder, which the driver has put there, tells.
"""

import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Protocol
from warnings import catch_warnings

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from fencepost.reports.tables.errors import ReportError
from fencepost.reports.tables.schema import ArrowFunction

_MARK = "_shared-"


class NotSharedError(Exception):
    """The executor does not see the folder of the driver; the message is one sentence."""


_TRACEBACK = "Traceback (most recent call last)"
"""Its last line says what went wrong."""
_DETAILS = re.compile(r'^\s*details = "(.*)"$', re.MULTILINE)
"""Where a call to a Spark Connect server tells why it failed."""
_OF_SERVER = "\n\nJVM stacktrace:"
_TOLD = re.compile(rf"\b{NotSharedError.__name__}: (.+)")


def rows_of_tasks(
    spark: SparkSession, tasks: int, function: ArrowFunction, columns: str, *, folder: Path
) -> list[Row]:
    """What `function` returns for the numbers of the tasks, from 0, each in a Spark task.

    Raises `ReportError` when the executors that were tried do not see `folder`.
    """
    with _marked(folder) as mark:
        frame = spark.range(0, tasks, 1, tasks).mapInArrow(_seeing(mark, function), columns)
        try:
            return collected(frame)
        except PySparkException as error:
            if (told := _TOLD.search(str(error))) is None:
                raise
            raise ReportError(
                told[1].strip(),
                "name a folder that the driver and all executors mount under this path, "
                "or leave out --spark-master to work on this machine",
            ) from None


class Collectable(Protocol):
    """A frame of Spark."""

    def collect(self) -> list[Row]:
        """All of its rows."""


def collected(frame: Collectable) -> list[Row]:
    """All rows of a frame, without a word of how they came.

    PySpark 4.1 leaves the socket of an answer to the garbage collector, which warns; 4.3 closes it.
    """
    with catch_warnings(action="ignore", category=ResourceWarning):
        return frame.collect()


def told_by(error: Exception) -> str:
    """All that an error says, which PySpark may keep apart from its text."""
    told = error.getMessage() if isinstance(error, PySparkException) else None
    return (told or str(error)).strip()


def reason_of(error: Exception) -> str:
    """The line of what it says that tells what went wrong, without a full stop; 300 characters."""
    told = told_by(error)
    if details := _DETAILS.search(told):
        return details[1][:300].rstrip(".")
    lines = (line.strip() for line in told.partition(_OF_SERVER)[0].split("\n"))
    said = [line for line in lines if line and not line.startswith("SQLSTATE")]
    return said[-1 if _TRACEBACK in told else 0][:300].rstrip(".")


@contextmanager
def _marked(folder: Path) -> Iterator[Path]:
    mark = folder / f"{_MARK}{token_hex(8)}"
    mark.touch()
    try:
        yield mark
    finally:
        mark.unlink(missing_ok=True)


def _seeing(mark: Path, function: ArrowFunction) -> ArrowFunction:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not mark.exists():
            raise NotSharedError(
                f"the Spark executor on {socket.gethostname()} does not see {mark.parent}"
            )
        yield from function(batches)

    return run
