from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RpcRule(_message.Message):
    __slots__ = ("rule_id", "method", "to", "topic", "verb", "count", "delay_ms", "window", "code")
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    VERB_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    rule_id: str
    method: str
    to: int
    topic: str
    verb: str
    count: int
    delay_ms: int
    window: int
    code: str
    def __init__(self, rule_id: _Optional[str] = ..., method: _Optional[str] = ..., to: _Optional[int] = ..., topic: _Optional[str] = ..., verb: _Optional[str] = ..., count: _Optional[int] = ..., delay_ms: _Optional[int] = ..., window: _Optional[int] = ..., code: _Optional[str] = ...) -> None: ...

class RuleName(_message.Message):
    __slots__ = ("rule_id",)
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    rule_id: str
    def __init__(self, rule_id: _Optional[str] = ...) -> None: ...

class RuleStatus(_message.Message):
    __slots__ = ("rule_id", "matched", "held", "released", "error")
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    MATCHED_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    rule_id: str
    matched: int
    held: int
    released: int
    error: str
    def __init__(self, rule_id: _Optional[str] = ..., matched: _Optional[int] = ..., held: _Optional[int] = ..., released: _Optional[int] = ..., error: _Optional[str] = ...) -> None: ...

class SessionRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Session(_message.Message):
    __slots__ = ("session_id", "password")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    session_id: int
    password: bytes
    def __init__(self, session_id: _Optional[int] = ..., password: _Optional[bytes] = ...) -> None: ...

class CrashPoint(_message.Message):
    __slots__ = ("point", "nth", "holds")
    POINT_FIELD_NUMBER: _ClassVar[int]
    NTH_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    point: str
    nth: int
    holds: bool
    def __init__(self, point: _Optional[str] = ..., nth: _Optional[int] = ..., holds: _Optional[bool] = ...) -> None: ...

class CrashPointStatus(_message.Message):
    __slots__ = ("error",)
    ERROR_FIELD_NUMBER: _ClassVar[int]
    error: str
    def __init__(self, error: _Optional[str] = ...) -> None: ...

class DiskFault(_message.Message):
    __slots__ = ("verb", "delay_ms")
    VERB_FIELD_NUMBER: _ClassVar[int]
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    verb: str
    delay_ms: int
    def __init__(self, verb: _Optional[str] = ..., delay_ms: _Optional[int] = ...) -> None: ...

class DiskRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DiskStatus(_message.Message):
    __slots__ = ("error", "matched", "failed_logs", "older_files")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    MATCHED_FIELD_NUMBER: _ClassVar[int]
    FAILED_LOGS_FIELD_NUMBER: _ClassVar[int]
    OLDER_FILES_FIELD_NUMBER: _ClassVar[int]
    error: str
    matched: int
    failed_logs: _containers.RepeatedCompositeFieldContainer[FailedLog]
    older_files: int
    def __init__(self, error: _Optional[str] = ..., matched: _Optional[int] = ..., failed_logs: _Optional[_Iterable[_Union[FailedLog, _Mapping]]] = ..., older_files: _Optional[int] = ...) -> None: ...

class FailedLog(_message.Message):
    __slots__ = ("topic", "partition", "reason")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    reason: str
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class ClockFault(_message.Message):
    __slots__ = ("jump_ms", "rate")
    JUMP_MS_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    jump_ms: int
    rate: int
    def __init__(self, jump_ms: _Optional[int] = ..., rate: _Optional[int] = ...) -> None: ...

class ClockRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ClockStatus(_message.Message):
    __slots__ = ("error", "now_ms", "true_ms")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    NOW_MS_FIELD_NUMBER: _ClassVar[int]
    TRUE_MS_FIELD_NUMBER: _ClassVar[int]
    error: str
    now_ms: int
    true_ms: int
    def __init__(self, error: _Optional[str] = ..., now_ms: _Optional[int] = ..., true_ms: _Optional[int] = ...) -> None: ...
