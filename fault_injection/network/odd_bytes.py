"""What no client would send: requests that are almost valid, huge ones, and odd frames of HTTP/2.

All is drawn from a generator of random numbers. A request that is almost valid is the wire form of
a valid one of some method in which a few bytes are changed, so that it is understood in part.
"""

import struct
from collections.abc import Callable
from random import Random

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.conventions import SERVICE

EXCHANGE = "Exchange"
METHODS = tuple(
    sorted(
        method.name
        for method in wire.DESCRIPTOR.services_by_name["Replication"].methods
        if method.name != EXCHANGE
    )
)
"""With one request and one answer."""
WORDS = {
    "kind": ("preferred", "unclean", "topic", "broker", "user", "client", "acl", "group"),
    "operation": ("set", "delete", "append", "subtract"),
}
"""What makes a field of that name valid."""
TEXTS = ("t", "other", "", "..", "a/b", "\0", "é" * 80, "x" * 300, "User:mallory", "*")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
PING, PONG = (b"\0\0\x08\6" + flags + b"\0\0\0\0oddbytes" for flags in (b"\0", b"\1"))
"""A frame that must be answered, and its answer."""
FRAME_TYPES_MAX = 12
STREAMS = (0, 1, 2, 3, 2**31 - 1, 2**32 - 1)
LENGTHS = (2**7, 2**14, 2**31 - 1, 2**32, 2**63, 2**64 - 1)
_DATA, _HEADERS = 0, 1
_LAST = 1
"""Flag of a frame: no data follow."""
_WHOLE = 4
"""Flag of headers: none follow."""
_EMPTY_TEXTS = frozenset({FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES})
Change = Callable[[bytearray], None]


class OddBytes:
    """Draws them; the same generator gives the same ones."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._changes: tuple[Change, ...] = (
            *(self._flip, self._cut, self._double, self._splice),
            *(self._repeat, self._mix, self._repeat, self._mix),
            *(self._lengthen, self._insert, self._append),
        )

    def valid(self, method: str) -> bytes:
        """A request of that method with about every second field set."""
        return self._filled(_request(method)).SerializeToString(deterministic=True)

    def almost_valid(self, method: str) -> bytes:
        """The same with up to three changes."""
        return self.changed(self.valid(method))

    def changed(self, content: bytes) -> bytes:
        """The content with up to three changes; one in eight has none."""
        changed = bytearray(content)
        for _ in range(self._random.choice((0, 1, 1, 1, 1, 2, 2, 3))):
            self._random.choice(self._changes)(changed)
        return bytes(changed)

    def huge(self, size: int) -> tuple[str, bytes]:
        """A method and a request of about that size: one field again and again."""
        many = [(m, f) for m in METHODS for f in _request(m).fields if _is_repeated(f)]
        method, field = self._random.choice(many)
        if field.message_type or field.type in _EMPTY_TEXTS:
            unit = _varint(field.number << 3 | 2) + b"\0"
        else:
            unit = _varint(field.number << 3) + b"\1"
        return method, unit * (size // len(unit))

    def frame(self) -> bytes:
        """Of HTTP/2: of any type, flags and stream; the length is that of the body, or a lie."""
        random = self._random
        body = random.randbytes(random.choice((0, 4, 5, 8, random.randrange(64))))
        length = len(body) if random.random() < 0.9 else random.randrange(2**24)
        kind, flags = random.randrange(FRAME_TYPES_MAX), random.randrange(256)
        return _frame(kind, flags, random.choice(STREAMS), body, length)

    def call(self, method: str) -> bytes:
        """The frames of a call with a valid request, with up to three changes."""
        return self.changed(self.valid_call(method))

    def valid_call(self, method: str) -> bytes:
        """The same without a change."""
        message = self.valid(method)
        headers = {
            ":method": "POST",
            ":scheme": "https",
            ":path": f"/{SERVICE}/{method}",
            ":authority": "localhost",
            "te": "trailers",
            "content-type": "application/grpc",
        }
        head = b"".join(
            b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
            for name, value in headers.items()
        )
        data = b"\0" + struct.pack(">I", len(message)) + message
        return _frame(_HEADERS, _WHOLE, 1, head) + _frame(_DATA, _LAST, 1, data)

    def _filled(self, kind: Descriptor) -> Message:
        message: Message = getattr(wire, kind.name)()
        for field in kind.fields:
            if self._random.random() < 0.5:
                continue
            if _is_repeated(field):
                values = [self._value(field) for _ in range(self._random.randrange(4))]
                getattr(message, field.name).extend(values)
            elif field.message_type:
                getattr(message, field.name).CopyFrom(self._value(field))
            else:
                setattr(message, field.name, self._value(field))
        return message

    def _value(self, field: FieldDescriptor) -> object:
        random = self._random
        if field.message_type:
            return self._filled(field.message_type)
        if field.type == FieldDescriptor.TYPE_STRING:
            return random.choice(WORDS.get(field.name, TEXTS))
        if field.type == FieldDescriptor.TYPE_BYTES:
            return random.randbytes(random.randrange(20))
        if field.type == FieldDescriptor.TYPE_BOOL:
            return random.random() < 0.5
        bits = 31 if field.type == FieldDescriptor.TYPE_INT32 else 63
        return random.choice((-1, 0, 1, 1, 2, 3, 2**bits - 1, -(2**bits)))

    def _at(self, content: bytearray) -> int:
        return self._random.randrange(len(content) + 1)

    def _part(self, content: bytearray) -> slice:
        begin = self._at(content)
        return slice(begin, min(len(content), begin + self._random.randrange(1, 20)))

    def _flip(self, content: bytearray) -> None:
        if content:
            content[self._random.randrange(len(content))] ^= 1 << self._random.randrange(8)

    def _cut(self, content: bytearray) -> None:
        del content[self._part(content)]

    def _double(self, content: bytearray) -> None:
        part = content[self._part(content)]
        at = self._at(content)
        content[at:at] = part * self._random.choice((1, 1, 2, 100))

    def _repeat(self, content: bytearray) -> None:
        """Once more, or often: what may be repeated is, of the rest the last one counts."""
        content *= self._random.choice((2, 2, 3, 50))

    def _splice(self, content: bytearray) -> None:
        other = self.valid(self._random.choice(METHODS))
        content[self._at(content) :] = other[self._random.randrange(len(other) + 1) :]

    def _mix(self, content: bytearray) -> None:
        """With the fields of another request, of which most have the same numbers."""
        content += self.valid(self._random.choice(METHODS))

    def _lengthen(self, content: bytearray) -> None:
        """A length, or any other number, that is too large takes the place of a byte."""
        at = self._at(content)
        content[at : at + 1] = _varint(self._random.choice(LENGTHS))

    def _insert(self, content: bytearray) -> None:
        """A number that does not end where it should."""
        at = self._at(content)
        content[at:at] = b"\xff" * self._random.randrange(1, 12)

    def _append(self, content: bytearray) -> None:
        content += self._random.randbytes(self._random.randrange(80))


def _request(method: str) -> Descriptor:
    return wire.DESCRIPTOR.message_types_by_name[f"{method}Request"]


def _is_repeated(field: FieldDescriptor) -> bool:
    return bool(field.is_repeated)


def _frame(kind: int, flags: int, stream: int, body: bytes, length: int | None = None) -> bytes:
    head = struct.pack(">I", len(body) if length is None else length)[1:]
    return head + bytes([kind, flags]) + struct.pack(">I", stream) + body


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
