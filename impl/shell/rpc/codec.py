"""Converts between wire messages and the core's values, generically, as the names are equal.

Enums travel by name. Per type the conversion is built once, so that a message costs no look-ups.
"""

import types
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from google.protobuf.message import DecodeError, Message
from msgspec import Struct
from msgspec.structs import fields

from fencepost.spec.wire import replication_pb2

Value = TypeVar("Value")
Kind = Any
"""A message type; mypy does not take every type for hashable."""
Hint = Any
"""What an annotation says."""
Convert = Callable[[Any], Any]
_TOPIC_TAG = 1 << 3 | 2
"""Begins field 1 when it is a text; its length follows, seven bits in a byte, the lowest first."""
_MORE = 1 << 7
"""From here on a byte of a length is not its last."""
_TOPIC_BYTES_MAX = _MORE**2 - 1
"""A length of two bytes; a topic has 249 at most."""


class CodecError(ValueError):
    """Bytes that are not a message, or a message with an unknown enum value."""


def encode(value: object) -> bytes:
    """The wire form of a request or response."""
    kind: Kind = type(value)
    message: Message = _to_wire(kind)(value)
    return message.SerializeToString()


class SharedBodies:
    """The wire form of requests that go to many brokers: each is serialised once (UMD-001)."""

    def __init__(self, kept_max: int) -> None:
        self._kept_max = kept_max
        self._kept: dict[int, tuple[object, bytes]] = {}
        """By the identity of the request, which is kept as long as it stands here."""

    def encode(self, request: object) -> bytes:
        """The same bytes for the same value."""
        known = self._kept.get(id(request))
        if known is not None:
            return known[1]
        while len(self._kept) >= self._kept_max:
            del self._kept[next(iter(self._kept))]
        data = encode(request)
        self._kept[id(request)] = request, data
        return data


def decode(kind: type[Value], data: bytes) -> Value:
    """Decode `data` as a request or response of type `kind`; raises `CodecError`."""
    of: Kind = kind
    try:
        value: Value = _from_wire(of)(_message_class(kind).FromString(data))
    except (DecodeError, ValueError) as error:
        raise CodecError(f"not a {kind.__name__}: {error}") from error
    return value


def leading_topic(data: bytes) -> str | None:
    """The topic with which a Produce begins, though the rest may be no message; None: with none.

    Each library writes the fields of a message in their order, of which the topic is the first.
    """
    head = data[:3]
    if len(head) < 3 or head[0] != _TOPIC_TAG:
        return None
    is_long = head[1] >= _MORE
    size, begin = (head[1] % _MORE + head[2] * _MORE, 3) if is_long else (head[1], 2)
    text = data[begin : begin + size]
    if size > _TOPIC_BYTES_MAX or len(text) < size:
        return None
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


def _message_class(kind: type) -> type[Message]:
    message_class: type[Message] = getattr(replication_pb2, kind.__name__)
    return message_class


@cache
def _to_wire(kind: Kind) -> Convert:
    parts = {name: _field_to_wire(hint) for name, hint in _fields(kind)}
    return _written_out(_message_class(kind), parts)


@cache
def _from_wire(kind: Kind) -> Convert:
    parts = {name: _field_from_wire(hint) for name, hint in _fields(kind)}
    return _written_out(kind, parts)


def _written_out(make: Kind, parts: Mapping[str, Convert]) -> Convert:
    """Compile a function that converts all fields; a loop takes three times as long."""
    sources = [
        f"{name}=source.{name}" if part is _same else f"{name}=parts['{name}'](source.{name})"
        for name, part in parts.items()
    ]
    text = f"lambda source: make({', '.join(sources)})"
    convert: Convert = eval(text, {"make": make, "parts": parts})  # noqa: S307  the names are ours
    return convert


def _fields(kind: type[Struct]) -> list[tuple[str, Any]]:
    hints = get_type_hints(kind)
    return [(field.name, _plain(hints[field.name])) for field in fields(kind)]


def _plain(hint: Hint) -> Hint:
    """The type under a NewType; `tuple[X, ...]` stays what it is."""
    while hasattr(hint, "__supertype__"):
        hint = hint.__supertype__
    return hint


def _field_to_wire(hint: Hint) -> Convert:
    element = _element(hint)
    if element is None:
        return _to_wire(hint) if _is_message(hint) else _same
    if not _is_message(element):
        return _same
    part = _to_wire(element)
    return lambda values: [part(value) for value in values]


def _field_from_wire(hint: Hint) -> Convert:
    element = _element(hint)
    if element is None:
        if _is_message(hint):
            return _from_wire(hint)
        return _member_of(hint) if issubclass(hint, StrEnum) else _same
    if not _is_message(element):
        return tuple
    part = _from_wire(element)
    return lambda messages: tuple([part(message) for message in messages])


def _member_of(kind: type[StrEnum]) -> Convert:
    """Look up the member by value; faster than calling the enum type."""
    members = {member.value: member for member in kind}

    def convert(text: str) -> StrEnum:
        member = members.get(text)
        return kind(text) if member is None else member

    return convert


def _element(hint: Hint) -> Hint:
    origin: object = get_origin(hint)
    if origin is not tuple:
        assert not isinstance(hint, types.UnionType), f"{hint} has no wire form"
        return None
    return _plain(get_args(hint)[0])


def _is_message(hint: Hint) -> bool:
    return isinstance(hint, type) and issubclass(hint, Struct)


def _same(value: object) -> object:
    return value
