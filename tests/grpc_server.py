"""A gRPC server on the loopback with plain functions of one request as methods."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc

Method = tuple[Callable[[Any], Any], type]
"""What answers, and the class of its request."""


@contextmanager
def serving(service: str, methods: Mapping[str, Method]) -> Iterator[str]:
    """The address of a server that answers until the context ends."""
    server = grpc.server(ThreadPoolExecutor(8))
    handlers = {name: _handler(*method) for name, method in methods.items()}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(f"fencepost.{service}", handlers),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


def _handler(answer: Callable[[Any], Any], request_class: type) -> object:
    def call(request: object, context: object) -> object:
        del context
        return answer(request)

    return grpc.unary_unary_rpc_method_handler(
        call,
        request_deserializer=getattr(request_class, "FromString"),  # noqa: B009 - generated
        response_serializer=lambda message: message.SerializeToString(),
    )
