"""A broker process that has loaded its modules and waits for its command line.

`python -m fencepost.impl node --go-fd N` reads the rest of its command line from descriptor `N`, as
a JSON list in one line. A harness keeps such a process at hand and restarts a broker without the
time that imports take.
"""

import os
from collections.abc import Sequence

import msgspec

GO_OPTION = "--go-fd"


class WarmStartError(Exception):
    """The command line did not arrive or is malformed; the message says which."""


def complete_arguments(arguments: Sequence[str]) -> list[str]:
    """The arguments; those that end in `--go-fd N` are completed from descriptor N, which blocks.

    Raises `WarmStartError`.
    """
    if GO_OPTION not in arguments[-2:-1]:
        return list(arguments)
    line = _line_from(arguments[-1])
    try:
        return [*arguments[:-2], *msgspec.json.decode(line, type=list[str])]
    except msgspec.MsgspecError as error:
        raise WarmStartError(
            f"descriptor {arguments[-1]} holds no JSON list of arguments: {error}"
        ) from error


def _line_from(descriptor: str) -> bytes:
    if not descriptor.isdecimal():
        raise WarmStartError(f"{GO_OPTION} takes the number of a descriptor, not {descriptor!r}")
    line = bytearray()
    try:
        while not line.endswith(b"\n"):
            if not (more := os.read(int(descriptor), 65536)):
                raise WarmStartError(
                    "the descriptor was closed before the arguments came; no broker was started"
                )
            line += more
        os.close(int(descriptor))
    except OSError as error:
        raise WarmStartError(f"descriptor {descriptor} cannot be read: {error.strerror}") from error
    return bytes(line)
