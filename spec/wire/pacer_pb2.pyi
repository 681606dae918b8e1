from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class PacedMove(_message.Message):
    __slots__ = ("verb", "number", "path", "children", "at_ms", "may", "topic", "partition", "to", "address", "mutant", "deadline_ms", "idle_ms", "wall_ms")
    VERB_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    MAY_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    MUTANT_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    IDLE_MS_FIELD_NUMBER: _ClassVar[int]
    WALL_MS_FIELD_NUMBER: _ClassVar[int]
    verb: str
    number: int
    path: str
    children: bool
    at_ms: int
    may: _containers.RepeatedScalarFieldContainer[str]
    topic: str
    partition: int
    to: int
    address: str
    mutant: str
    deadline_ms: int
    idle_ms: _containers.RepeatedScalarFieldContainer[int]
    wall_ms: int
    def __init__(self, verb: _Optional[str] = ..., number: _Optional[int] = ..., path: _Optional[str] = ..., children: _Optional[bool] = ..., at_ms: _Optional[int] = ..., may: _Optional[_Iterable[str]] = ..., topic: _Optional[str] = ..., partition: _Optional[int] = ..., to: _Optional[int] = ..., address: _Optional[str] = ..., mutant: _Optional[str] = ..., deadline_ms: _Optional[int] = ..., idle_ms: _Optional[_Iterable[int]] = ..., wall_ms: _Optional[int] = ...) -> None: ...

class Taken(_message.Message):
    __slots__ = ("actions", "error", "address")
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    actions: _containers.RepeatedScalarFieldContainer[str]
    error: str
    address: str
    def __init__(self, actions: _Optional[_Iterable[str]] = ..., error: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...
