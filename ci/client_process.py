"""The client of the reference as a process: one call by name, answers as values."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from fencepost.ci.exit_codes import INTERRUPTED
from fencepost.ci.gate.failures import HarnessError, UsageError
from fencepost.conformance.adapters.local_cluster import addresses, command, load
from fencepost.spec.wire.tls import ADMIN, IDENTITY_VARIABLE


def bootstrap_servers(given: str | None, cluster: Path) -> str:
    """`given`, or where the brokers of the local cluster listen.

    Raises `HarnessError` when none of them is registered, and `ClusterError` without cluster.
    """
    if given is not None:
        return given

    found = addresses(cluster)
    if not found:
        raise HarnessError(f"no broker is registered; see {command('status', cluster)}")
    return ",".join(found)


def call(
    name: str, servers: str | None, cluster: Path, *, given: str | None = "", **arguments: object
) -> dict[str, Any]:
    """The one answer of a call, empty when it has none; otherwise as `answers`."""
    found = list(answers(name, servers, cluster, given=given, **arguments))
    return found[0] if found else {}


def answers(
    name: str, servers: str | None, cluster: Path, *, given: str | None = "", **arguments: object
) -> Iterator[dict[str, Any]]:
    """Every answer as it comes, of the brokers at `servers` or else of the local cluster.

    `given` is what the call reads, None for our standard input.

    Raises `UsageError` when what is asked for cannot be, and `HarnessError` when the cluster does
    not answer or the outcome is unknown.
    """
    command = [
        sys.executable,
        "-m",
        "fencepost.impl",
        "client",
        name,
        bootstrap_servers(servers, cluster),
        json.dumps(arguments),
    ]
    with TemporaryFile() as text:
        text.write((given or "").encode())
        text.seek(0)
        with subprocess.Popen(
            command,
            env=_environment(servers, cluster),
            stdin=None if given is None else text,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                for line in process.stdout or ():
                    yield json.loads(line)
                message = process.stderr.read().decode(errors="replace") if process.stderr else ""
            except BaseException:
                process.terminate()
                raise
    _judge(process.returncode, message.strip())


def _environment(servers: str | None, cluster: Path) -> dict[str, str]:
    """Ours, and of a local cluster with TLS the administrator's identity unless ours names one."""
    tls = None if servers is not None else load(cluster).tls
    return ({IDENTITY_VARIABLE: str(Path(tls) / ADMIN)} if tls else {}) | os.environ


def _judge(exit_code: int, message: str) -> None:
    if exit_code == 0:
        return
    if exit_code == UsageError.exit_code:
        raise UsageError(message)
    if exit_code == INTERRUPTED:
        raise KeyboardInterrupt
    raise HarnessError(message or f"the client ended with exit code {exit_code}")
