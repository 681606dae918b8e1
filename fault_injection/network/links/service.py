"""How the process that hurts a network takes commands, whichever way it hurts it.

It listens at `DIRECTORY/links.sock`: one JSON object per line; its `do` names the command, and
one as the answer to each.
Standard library only.
"""

import asyncio
import json
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

SOCKET = "links.sock"
LINE_MAX = 4 * 1024 * 1024

Answer = dict[str, Any]
Command = Callable[[Mapping[str, Any]], Awaitable[Answer]]


class CommandError(Exception):
    """A command that cannot be done; says why in one sentence."""


async def serve_commands(directory: Path, *commands: Command) -> None:
    """Obey commands, each known by the name of its function, until killed."""
    known = {command.__name__: command for command in commands}

    async def obey(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            answer = await _answer(known, line)
            writer.write(json.dumps(answer).encode() + b"\n")
        writer.close()

    with bound_socket(directory) as control:
        server = await asyncio.start_unix_server(obey, sock=control, limit=LINE_MAX)
        await server.serve_forever()


async def _answer(commands: Mapping[str, Command], line: bytes) -> Answer:
    try:
        command = json.loads(line)
        return await commands[command["do"]](command)
    except CommandError as error:
        return {"error": str(error)}
    except (ValueError, KeyError, TypeError) as error:
        return {"error": f"{line[:200]!r} is no command: {error!r}"}
    except OSError as error:
        return {"error": f"{error.strerror or error}"}


def bound_socket(directory: Path) -> socket.socket:
    """A socket `links.sock` in a directory, however long the name of that is."""
    (directory / SOCKET).unlink(missing_ok=True)
    control = socket.socket(socket.AF_UNIX)
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        control.bind(f"/proc/self/fd/{descriptor}/{SOCKET}")
    finally:
        os.close(descriptor)
    return control
