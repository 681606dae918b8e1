"""The client for tests that wait for each call."""

import asyncio
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any, Self

from fencepost.impl import client


class Blocking:
    """A client whose coroutine methods block until they are done."""

    def __init__(self, core: client.Admin | client.Consumer | client.Producer) -> None:
        self._core = core
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._core.close())
        self._runner.close()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the core has it
        member = getattr(self._core, name)
        if not iscoroutinefunction(member):
            return member
        return lambda *given, **named: self._runner.run(member(*given, **named))


def _blocking(kind: Callable[..., Any]) -> Callable[..., Blocking]:
    return lambda *given, **named: Blocking(kind(*given, **named))


Admin, Consumer, Producer = map(_blocking, (client.Admin, client.Consumer, client.Producer))
