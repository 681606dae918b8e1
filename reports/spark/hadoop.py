"""Folders at a Hadoop address (`hdfs://`, `s3a://`, `file://` or any other that Hadoop reads).

Such a folder is fetched, worked on here, and what has changed is sent back. Hadoop's own client in
Spark's JVM does both, so what it needs (name nodes, keys, jars) is told to it as to any Spark job:
by `HADOOP_CONF_DIR` or `spark-defaults.conf`.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from fencepost.reports.spark.connect import is_of_connect
from fencepost.reports.tables.errors import ReportError

_DELETE_SOURCE = False
_OVERWRITE = _WITH_ALL_IN_IT = True
_WITHOUT_SUMS = True
"""Those that Hadoop else writes beside each local file."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_address(name: str) -> bool:
    """True of a name with a scheme."""
    return _ADDRESS.match(name) is not None


@contextmanager
def at_hand(spark: SparkSession, address: str, folder: Path) -> Iterator[Path]:
    """The new `folder` holds what there is at `address`; at the end what has changed is sent back.

    Raises `ReportError` when Hadoop cannot read or write there, or `spark` has no JVM here.
    """
    if is_of_connect(spark):
        raise ReportError(
            f"Spark Connect has no Hadoop client here, which {address} needs",
            "name a folder that this machine and all executors see under one path",
        )
    fetched_ns = time.time_ns()
    with _as_report_error(address, "read"):
        there = _Hadoop(spark, address)
        if there.exists(""):
            there.fetch(folder)
        else:
            folder.mkdir()
    old = {path.name: _newest_ns(path) for path in folder.iterdir()}
    try:
        yield folder
    except ReportError as error:
        told = (text.replace(str(folder), address) for text in (error.problem, error.hint))
        raise ReportError(*told) from error
    with _as_report_error(address, "written"):
        for path in sorted(folder.iterdir()):
            if _newest_ns(path) > old.get(path.name, fetched_ns - 1):
                there.send(path)


def _newest_ns(path: Path) -> int:
    return max(one.stat().st_mtime_ns for one in (path, *path.rglob("*")))


class _Hadoop:
    """One folder in the words of Hadoop."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        jvm: Any = spark.sparkContext._jvm  # PySpark has no public way to Hadoop's client
        self._path = jvm.org.apache.hadoop.fs.Path
        self._address = address.rstrip("/")
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
        self._system = self._path(address).getFileSystem(configuration)

    def exists(self, name: str) -> bool:
        return bool(self._system.exists(self._of(name)))

    def fetch(self, folder: Path) -> None:
        here = self._path(str(folder))
        self._system.copyToLocalFile(_DELETE_SOURCE, self._of(""), here, _WITHOUT_SUMS)

    def send(self, path: Path) -> None:
        here, there = self._path(str(path)), self._of(path.name)
        self._system.delete(there, _WITH_ALL_IN_IT)
        self._system.copyFromLocalFile(_DELETE_SOURCE, _OVERWRITE, here, there)

    def _of(self, name: str) -> Any:  # noqa: ANN401
        return self._path(f"{self._address}/{name}" if name else self._address)


@contextmanager
def _as_report_error(address: str, done: str) -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        reason = str(error.java_exception.toString()).split("\n")[0][:300]
        raise ReportError(
            f"{address} cannot be {done}: {reason}", "check the address and Hadoop's configuration"
        ) from error
    except Py4JError as error:
        raise ReportError(f"{address} cannot be {done}", "is Spark still running?") from error
