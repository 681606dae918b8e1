from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class RpcRule(_message.Message):
    __slots__ = ("rule_id", "method", "to", "topic", "verb", "count")
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    VERB_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    rule_id: str
    method: str
    to: int
    topic: str
    verb: str
    count: int
    def __init__(self, rule_id: _Optional[str] = ..., method: _Optional[str] = ..., to: _Optional[int] = ..., topic: _Optional[str] = ..., verb: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

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
