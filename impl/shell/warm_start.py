"""A broker that is ready before its time: its modules are loaded, and nothing else is done.

`python -m fencepost.impl node --go-fd N` reads the rest of its command line from descriptor `N`: a
JSON list in one line. So whoever starts brokers can have the next one at hand, and starts it in no
time.
"""

import os
from collections.abc import Sequence

import msgspec

GO_OPTION = "--go-fd"


class WarmStartError(Exception):
    """Whoever would have said how to go on did not; says what came instead."""


def complete_arguments(arguments: Sequence[str]) -> list[str]:
    """The command line, with what comes from the descriptor that it ends with, if it does so.

    Waits for that; raises `WarmStartError`.
    """
    if GO_OPTION not in arguments[-2:-1]:
        return list(arguments)
    line = _line_from(arguments[-1])
    try:
        return [*arguments[:-2], *msgspec.json.decode(line, type=list[str])]
    except msgspec.MsgspecError as error:
        raise WarmStartError(
            f"what came at descriptor {arguments[-1]} is no list: {error}"
        ) from error


def _line_from(descriptor: str) -> bytes:
    if not descriptor.isdecimal():
        raise WarmStartError(f"{GO_OPTION} takes the number of a descriptor, not {descriptor!r}")
    line = bytearray()
    try:
        while not line.endswith(b"\n"):
            if not (more := os.read(int(descriptor), 65536)):
                raise WarmStartError("nobody said how to go on, so nothing was begun")
            line += more
        os.close(int(descriptor))
    except OSError as error:
        raise WarmStartError(f"descriptor {descriptor} cannot be read: {error.strerror}") from error
    return bytes(line)
