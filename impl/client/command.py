"""The command `python -m fencepost.impl client`: one call of the client.

Run `python -m fencepost.impl client CALL HOST:PORT[,...] [JSON]`.

Each answer is a line of JSON on standard output. Exit code 0; 3 when the cluster does not answer or
the outcome is unknown; 4 when the request is wrong or refused. An error is one sentence on standard
error.
"""

import asyncio
import json
import sys
from collections.abc import Sequence

from fencepost.impl.client.calls import CALLS
from fencepost.impl.client.errors import EXIT_USAGE, ClientError, exit_code_of

EXIT_OK = 0
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141
"""Standard output was closed; the code that shells give for SIGPIPE."""
USAGE = "usage: python -m fencepost.impl client CALL HOST:PORT[,HOST:PORT ...] [JSON OBJECT]"


def run(arguments: Sequence[str]) -> int:
    """Make the call; returns the exit code."""
    try:
        name, servers, given = _parse(arguments)
    except ValueError as error:
        return _fail(str(error), EXIT_USAGE)
    try:
        asyncio.run(_print_answers(name, servers, given))
    except (ClientError, ValueError) as error:
        return _fail(str(error), exit_code_of(error))
    except ExceptionGroup as group:  # one per line of standard input; report the first
        first = _first(group)
        return _fail(str(first), exit_code_of(first))
    except BrokenPipeError:
        return EXIT_PIPE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return EXIT_OK


def _parse(arguments: Sequence[str]) -> tuple[str, str, dict[str, object]]:
    if not 2 <= len(arguments) <= 3 or arguments[0] not in CALLS:
        raise ValueError(f"{USAGE}; calls: {', '.join(CALLS)}")
    given = json.loads(arguments[2]) if len(arguments) > 2 else {}
    if not isinstance(given, dict):
        raise ValueError(USAGE)  # noqa: TRY004 - as any other mistake of the caller
    return arguments[0], arguments[1], given


async def _print_answers(name: str, servers: str, given: dict[str, object]) -> None:
    async for answer in CALLS[name](servers, **given):
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def _first(group: ExceptionGroup[Exception]) -> Exception:
    error = group.exceptions[0]
    if isinstance(error, ExceptionGroup):
        return _first(error)
    if not isinstance(error, ClientError | ValueError):
        raise error
    return error


def _fail(message: str, exit_code: int) -> int:
    sys.stderr.write(f"{' '.join(message.split())}\n")
    return exit_code
