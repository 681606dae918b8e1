"""The process that hurts a network: how it takes commands, and what both of its kinds share.

It listens at `DIRECTORY/links.sock`: one JSON object per line; its `do` names the command, and
one as the answer to each. Rules, their status and probes are here; how a rule is put into effect
and how a probe is sent is the backend's. Standard library only.
"""

import asyncio
import json
import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import getmembers, iscoroutinefunction
from pathlib import Path
from typing import Any

from fencepost.fault_injection.network.active_rules import ActiveLinkRule, ActiveLinkRules
from fencepost.fault_injection.network.rules import Link, LinkRule

SOCKET = "links.sock"
LINE_MAX = 4 * 1024 * 1024

Answer = dict[str, Any]
Command = Callable[[Mapping[str, Any]], Awaitable[Answer]]


class CommandError(Exception):
    """A command that cannot be done; says why in one sentence."""


@dataclass(slots=True, kw_only=True, eq=False, weakref_slot=True)
class LinkProbe:
    """A message of our own on one link, which passes or does not."""

    link: Link
    started: float = field(default_factory=time.monotonic)
    passed_ms: float | None = None
    """Milliseconds from its start until it was first seen to have passed."""

    def waited_ms(self) -> float:
        """Milliseconds since its start."""
        return round((time.monotonic() - self.started) * 1000, 3)

    def look(self) -> float | None:
        """Milliseconds until it passed; None when it has not."""
        return self.passed_ms

    def end(self) -> None:
        """Leave nothing of it behind."""


class LinkService(ABC):
    """Rules and probes of one network. Each public coroutine is the command of its name."""

    def __init__(self) -> None:
        self.rules = ActiveLinkRules()
        self._probes: dict[str, list[LinkProbe]] = {}

    async def add(self, command: Mapping[str, Any]) -> Answer:
        """Apply the rules from now on; none of them when one cannot be done."""
        rules = [LinkRule.from_json(document) for document in command["rules"]]
        for rule in rules:
            self.require_able(rule)
        for rule in rules:
            self.begin(rule)
        return {}

    async def remove(self, command: Mapping[str, Any]) -> Answer:
        """Apply the rules no more; what each did, in the order of the names."""
        found = await self.status(command)
        for rule_id in command["rule_ids"]:
            self.rules.remove(str(rule_id))
        return found

    async def status(self, command: Mapping[str, Any]) -> Answer:
        """What each of the rules has done so far, in the order of the names; null for none."""
        found = [self.rules.active.get(str(rule_id)) for rule_id in command["rule_ids"]]
        return {"statuses": [self.status_of(active) if active else None for active in found]}

    async def probe(self, command: Mapping[str, Any]) -> Answer:
        """Send a probe on each of the links, under one name."""
        name = str(command["probe"])
        await self.end_probe(command)
        self._probes[name] = [self.start_probe((str(a), str(b))) for a, b in command["links"]]
        return {}

    async def probed(self, command: Mapping[str, Any]) -> Answer:
        """Of each link's probe, how long it took to pass, and how long it is out."""
        probes = self._probes.get(str(command["probe"]), [])
        return {"results": [[*p.link, p.look(), p.waited_ms()] for p in probes]}

    async def end_probe(self, command: Mapping[str, Any]) -> Answer:
        """End the probes of that name."""
        for probe in self._probes.pop(str(command["probe"]), []):
            probe.end()
        return {}

    @abstractmethod
    def require_able(self, rule: LinkRule) -> None:
        """Raise `CommandError` unless this network can do all that the rule says."""

    def begin(self, rule: LinkRule) -> None:
        """Apply the rule from now on."""
        self.rules.add(rule)

    @abstractmethod
    def status_of(self, active: ActiveLinkRule) -> Answer:
        """The status of a rule at this moment."""

    @abstractmethod
    def start_probe(self, link: Link) -> LinkProbe:
        """A probe that is on its way; raises `CommandError`."""


async def serve(service: LinkService, directory: Path) -> None:
    """Obey commands until killed."""
    commands = {
        name: method
        for name, method in getmembers(service, iscoroutinefunction)
        if not name.startswith("_")
    }

    async def obey(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            answer = await _answer(commands, line)
            writer.write(json.dumps(answer).encode() + b"\n")
        writer.close()

    with _bound_socket(directory) as control:
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


@contextmanager
def socket_address(directory: Path) -> Iterator[str]:
    """The address of the control socket in a directory, however long the name of that is."""
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


def _bound_socket(directory: Path) -> socket.socket:
    (directory / SOCKET).unlink(missing_ok=True)
    control = socket.socket(socket.AF_UNIX)
    with socket_address(directory) as address:
        control.bind(address)
    return control
