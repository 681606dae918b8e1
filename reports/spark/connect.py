"""A session of a Spark Connect server (`sc://HOST:PORT`): its client needs no Java here.

Classic sessions and this kind live side by side: PySpark's own `SparkSession.builder.remote` would
set the process to one of both.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from fencepost.reports.spark.executors import reason_of
from fencepost.reports.spark.package import make_archive
from fencepost.reports.tables.errors import ReportError
from fencepost.spec.scratch import scratch_folder

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession as ConnectSession

SCHEME = "sc://"
PACKAGES = {
    "grpc_status": "grpcio-status",
    "google.rpc": "googleapis-common-protos",
    "zstandard": "zstandard",
}
"""What is imported -> the package that has it; those that nothing else of ours needs."""
RETRIES = 6
"""Of a call that gets no answer: for a minute, in which a network may come back."""
_MODULE = "pyspark.sql.connect.session"


def is_connect_address(master: str | None) -> bool:
    """True of the address of a Spark Connect server."""
    return master is not None and master.startswith(SCHEME)


def is_of_connect(session: object) -> bool:
    """True of a session that has no JVM in this process."""
    return not isinstance(session, SparkSession)


def active_connect_session() -> SparkSession | None:
    """The one that this thread uses already, by whoever made it."""
    module = sys.modules.get(_MODULE)  # its packages may be missing where nothing has imported it
    found = module.SparkSession.getActiveSession() if module else None
    return cast("SparkSession | None", found)


@contextmanager
def connect_session(address: str) -> Iterator[SparkSession]:
    """A new session of the server at `address`; its executors have this package.

    Raises `ReportError` when the client lacks a package or the server does not answer.
    """
    session = _client(address)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # an exception tells it, too
        try:
            with _as_report_error(address):
                _begin(session)
            yield cast("SparkSession", session)
        finally:
            session.client.set_retry_policies([])
            session.stop()


def _client(address: str) -> "ConnectSession":
    """Nothing is sent yet."""
    # Asked here, for PySpark ends a process of `python -c` that lacks one.
    missing = [package for module, package in PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise ReportError(
            f"{_shown(address)} needs Python packages that are not installed: {', '.join(missing)}",
            'pip install "fencepost[connect]"',
        )
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    with _as_report_error(address):
        return ConnectSession.builder.remote(address).create()


def _begin(session: "ConnectSession") -> None:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([])
    _ = session.version  # asks the server
    session.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])
    with scratch_folder("spark") as scratch:
        session.addArtifacts(make_archive(scratch / "fencepost.zip"), archive=True)


@contextmanager
def _as_report_error(address: str) -> Iterator[None]:
    try:
        yield
    except (PySparkException, ValueError) as error:
        raise ReportError(
            f"Spark Connect does not answer at {_shown(address)}: {reason_of(error)}",
            "check the server's address, or leave it out to use this machine",
        ) from error


def _shown(address: str) -> str:
    """Without parameters, of which one may be a token."""
    return address.partition("/;")[0]
