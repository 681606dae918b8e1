"""Requests to the kernel: network namespaces of our own, and what `ip` and `tc` set up in them.

A network namespace has no name here: it lives as long as something holds it, a process in it or an
open descriptor, and with it go its devices, addresses and filters.
Standard library only.
"""

import ctypes
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CLONE_NEWNET = 0x40000000
"""From linux/sched.h."""
OWN = Path("/proc/thread-self/ns/net")
DEVICES = Path("/proc/thread-self/net/dev")
ROUTES = Path("/proc/thread-self/net/route")
SETTINGS = Path("/proc/sys/net")
PROGRAMS = ("ip", "tc")
DEADLINE_S = 5.0

RETRY_MS = 1000
"""The least that Linux takes as the longest time between two tries of TCP."""
RETRIES = 100
"""The usual 15 end a connection after a quarter of an hour, but at that pace after 15 seconds."""


class KernelError(OSError):
    """The kernel, or a program that asks it, refused; one sentence says what."""


def leave() -> None:
    """Move this thread into a new, empty network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise _failure("unshare")


def enter(namespace: int) -> None:
    """Move this thread, and what it starts from now on, into the network of that descriptor."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, CLONE_NEWNET) != 0:
        raise _failure("setns")


def current() -> int:
    """A descriptor that holds the network of this thread."""
    return os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)


@contextmanager
def inside(namespace: int) -> Iterator[None]:
    """Move this thread into that network while the context lasts."""
    before = current()
    enter(namespace)
    try:
        yield
    finally:
        enter(before)
        os.close(before)


def new_namespace() -> int:
    """A descriptor that holds a new network; this thread stays where it is."""
    before = current()
    leave()
    try:
        return current()
    finally:
        enter(before)
        os.close(before)


def devices() -> frozenset[str]:
    """The devices of the network that this thread is in."""
    lines = DEVICES.read_text(encoding="ascii").splitlines()[2:]
    return frozenset(line.partition(":")[0].strip() for line in lines)


def routed_devices() -> frozenset[str]:
    """Those of them that have an IPv4 route."""
    lines = ROUTES.read_text(encoding="ascii").splitlines()[1:]
    return frozenset(line.split()[0] for line in lines if line.split())


def missing_program() -> str | None:
    """A required program that is not on the PATH; None when all are."""
    return next((name for name in PROGRAMS if shutil.which(name) is None), None)


def obey(program: str, lines: Iterable[str], *options: str) -> str:
    """Let `ip` or `tc` execute the lines as a batch; its output. Raises `KernelError`."""
    text = "".join(f"{line}\n" for line in lines)
    try:
        done = subprocess.run(
            [program, *options, "-batch", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise KernelError(f"{program}: {error}") from error
    if done.returncode != 0:
        said = "; ".join(line for line in done.stderr.splitlines() if line)
        raise KernelError(f"{program}: {said or text}")
    return done.stdout


def documents(text: str) -> list[Any]:
    """The JSON documents in `text`, one after the other."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        document, at = decoder.raw_decode(text, at)
        found.append(document)
    return found


def settle_network() -> None:
    """Set the network of this thread up: loopback, IPv4 only, TCP retries every second.

    TCP doubles its wait after each try, so bytes held by a long cut would arrive long after it. The
    longest wait can be set since Linux 6.15; on older kernels healing takes longer.
    """
    for what in ("all", "default"):
        _write(SETTINGS / f"ipv6/conf/{what}/disable_ipv6", 1)
    if _write(SETTINGS / "ipv4/tcp_rto_max_ms", RETRY_MS):
        _write(SETTINGS / "ipv4/tcp_retries2", RETRIES)
    obey("ip", ["link set lo up"])


def _write(path: Path, value: int) -> bool:
    """False when this kernel has no such setting."""
    if not path.exists():
        return False
    path.write_text(f"{value}\n", encoding="ascii")
    return True


def _failure(call: str) -> KernelError:
    return KernelError(f"{call}: {os.strerror(ctypes.get_errno())}")
