"""One quiet Spark session: found or started, and stopped only by whoever started it."""

import logging
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from fencepost.reports.spark.connect import (
    active_connect_session,
    connect_session,
    is_connect_address,
)
from fencepost.reports.spark.package import ROOT, make_archive
from fencepost.reports.tables.errors import ReportError
from fencepost.spec.java import JavaNotFoundError, spark_java_home
from fencepost.spec.scratch import scratch_folder

DEFAULT_MASTER = "local[2]"
PY4J_LOGGERS = ("py4j.java_gateway", "py4j.clientserver")
PYTHON = "PYSPARK_PYTHON"
"""The variable that names the Python of executors."""
_LOGGING = """\
status = error
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%throwable{0}
"""


@contextmanager
def spark_session(master: str | None) -> Iterator[SparkSession]:
    """A session on `master` (default: two threads here); an active one is used as it is.

    Raises `ReportError` when Java or the master does not answer.
    """
    active = _active(master)
    if active is not None:
        yield active
        return
    if master is not None and is_connect_address(master):
        with connect_session(master) as session:
            yield session
        return
    with scratch_folder("spark") as scratch, _silent_py4j():
        session = _start(master or DEFAULT_MASTER, scratch)
        try:
            yield session
        finally:
            _stop(session)


def _active(master: str | None) -> SparkSession | None:
    """No other kind stands in for a session of Spark Connect."""
    if is_connect_address(master):
        return active_connect_session()
    return SparkSession.getActiveSession() or active_connect_session()


@contextmanager
def _silent_py4j() -> Iterator[None]:
    """Py4J logs each interrupt with a traceback, and raises what else it logs."""
    loggers = [logging.getLogger(name) for name in (None, *PY4J_LOGGERS)]
    for logger in loggers:
        logger.addFilter(_is_not_of_py4j)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def _start(master: str, scratch: Path) -> SparkSession:
    log = scratch / "spark.log"
    try:
        home = spark_java_home(scratch / "java")
        with (
            log.open("wb") as output,
            _environment(**{"JAVA_HOME": str(home), PYTHON: _python(master)}),
        ):
            conf = _configuration(master, scratch)
            gateway = launch_gateway(conf, {"stdout": output, "stderr": output})  # type: ignore[no-untyped-call]
            with _own_interrupt():
                context = SparkContext(conf=conf, gateway=gateway)
            if not _is_local(master):
                context.addArchive(make_archive(scratch / "fencepost.zip"))
    except JavaNotFoundError as error:
        raise ReportError(f"Spark has no Java: {error}", "then run the report again") from error
    except Exception as error:  # py4j, Spark and the operating system each have their own family
        raise ReportError(
            f"Spark did not start on {master}: {_reason(log, error)}",
            "check the master's address, or leave it out to use this machine",
        ) from error
    return SparkSession(context)


def _stop(session: SparkSession) -> None:
    """Stop Spark and its Java process; the next session starts a fresh one."""
    gateway = session.sparkContext._gateway  # Spark has no public way to end its JVM
    with suppress(Py4JError, OSError), warnings.catch_warnings(action="ignore"):
        session.stop()  # a signal to all of a terminal has ended its JVM already
    if gateway is None:
        return
    process = gateway.proc
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    if process is not None:
        process.stdin.close()
        process.wait(timeout=30)


def _is_local(master: str) -> bool:
    """True where executors are threads of this machine, and not a cluster that starts here."""
    return re.match(r"local(\[|$)", master) is not None


def _python(master: str) -> str:
    """Of executors: the one that is asked for where they may have another than ours."""
    own = sys.executable
    return own if _is_local(master) else os.environ.get(PYTHON, own)


def _configuration(master: str, scratch: Path) -> SparkConf:
    log4j = scratch / "log4j2.properties"
    log4j.write_text(_LOGGING, encoding="utf-8")
    settings = {
        "spark.app.name": "fencepost report",
        "spark.master": master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j.as_uri()}",
    }
    if _is_local(master):
        settings["spark.executorEnv.PYTHONPATH"] = str(ROOT.parent)
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        # Python workers do the work; a short-lived JVM that compiles less is there sooner.
        settings["spark.driver.extraJavaOptions"] += " -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    return SparkConf(loadDefaults=False).setAll(list(settings.items()))


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Ctrl-C goes on to mean what it meant: Spark's handler would talk before it lets go."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _reason(log: Path, error: Exception) -> str:
    """The last line but stack frames that Spark wrote, else the error's own first line."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.exists() else []
    stripped = (line.strip() for line in lines)
    written = [line for line in stripped if line and not line.startswith(("at ", "... "))]
    told = error.getMessage() if isinstance(error, PySparkException) else str(error)
    return (written[-1] if written else told.strip().split("\n")[0])[:300]
