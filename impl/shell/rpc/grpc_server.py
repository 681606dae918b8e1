"""A gRPC server that a call of no method cannot stop.

The loop of grpcio 1.85 decodes the path of each call, and the server ends when that is not UTF-8:
any peer could end a broker by one frame. Here each method is asked for by name, in a loop of its
own, and what is left has no name that matters: it is refused without a look at its path.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import ContextVar

import grpc
from grpc import aio
from grpc._cython import cygrpc

Serve = Callable[[bytes, aio.ServicerContext], Awaitable[bytes]]
Options = Sequence[tuple[str, int]]
_IS_TOO_MUCH = False
"""No limit of calls at a time is asked of grpcio."""
_WITH_THE_DEFECT = "1.85."
"""Releases that have it, and the inner parts that are used here; 1.83.0 has it not."""

_WHEN_WRITTEN: ContextVar[list[Callable[[], None]]] = ContextVar("when_written")
"""Of the call that a task serves: what to call once its answer is written."""


def new_server(options: Options = ()) -> aio.Server:
    """A server for registered methods; of another release of grpcio its own."""
    if not grpc.__version__.startswith(_WITH_THE_DEFECT):
        return aio.server(options=options)
    plain = cygrpc.AioServer
    cygrpc.AioServer = _LoopPerMethod  # its class is no argument
    try:
        return aio.server(options=options)
    finally:
        cygrpc.AioServer = plain


def unary_handler(serve: Serve) -> grpc.RpcMethodHandler:
    """A handler that calls `serve`, and keeps no request that it has refused by `abort`.

    grpcio keeps the error of `abort` in a cycle of references, and by its traceback the frames with
    the request: up to 64 MB of each until the garbage is collected, which may take hours.
    """

    async def handled(data: bytes, context: aio.ServicerContext) -> bytes:
        try:
            return await serve(data, context)
        except aio.AbortError as error:
            del data
            error.__context__ = None
            raise error.with_traceback(None)  # noqa: B904  it is the same error

    return grpc.unary_unary_rpc_method_handler(handled)


def when_written(context: aio.ServicerContext, callback: Callable[[], None]) -> None:
    """Call `callback` once the answer of the call is written to its connection, or given up.

    With a server of another release, when gRPC is about to write it: it tells no more.
    """
    callbacks = _WHEN_WRITTEN.get(None)
    if callbacks is None:
        context.add_done_callback(lambda _: callback())
    else:
        callbacks.append(callback)


async def _served(handled: Coroutine[object, object, None]) -> None:
    """A call is over for its handler when its answer is written."""
    callbacks: list[Callable[[], None]] = []
    _WHEN_WRITTEN.set(callbacks)
    try:
        await handled
    finally:
        for callback in callbacks:
            callback()


class _LoopPerMethod(cygrpc.AioServer):  # type: ignore[misc]
    """Takes and begins calls itself; the loop above it gets none of them."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self._handlers: dict[str, object] = {}
        self._begun: set[asyncio.Task[None]] = set()
        """The event loop itself keeps no task alive."""

    def add_registered_method_handlers(self, handlers: dict[str, object]) -> None:
        super().add_registered_method_handlers(handlers)
        self._handlers.update(handlers)

    def _make_request_call_future(self, path: bytes | None) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(self._take_calls(path))

    async def _take_calls(self, path: bytes | None) -> None:
        """Begin each call of that method, or of no method, until the server stops."""
        loop, name = asyncio.get_running_loop(), path.decode() if path else ""
        resolver = cygrpc._MethodResolver([], self._handlers)
        while True:
            call = await (self._request_registered_call(path) if path else self._request_call())
            handled = cygrpc._handle_rpc(name, resolver, (), call, loop, _IS_TOO_MUCH)
            begun = loop.create_task(cygrpc._schedule_rpc_coro(_served(handled), call, loop, name))
            self._begun.add(begun)
            begun.add_done_callback(self._begun.discard)
