"""What the parameters of faults are: their type, unit, bounds and meaning, read from annotations.

A field `for_ms: Annotated[int, Parameter("how long it lasts", unit="ms", at_least=1)]` is all that
is said of a parameter anywhere; values, JSON, schedule files and tables are checked and made by it.
"""

import types
from dataclasses import MISSING, dataclass, fields
from typing import Any, Union, get_args, get_origin, get_type_hints

from fencepost.fault_injection.faults.targets import FaultError, Role, Target, parse_target

NUMBER_MAX = (1 << 63) - 1
"""What every program that reads a trace can hold."""
MS_MAX = (1 << 31) - 1
"""Some 24 days; no timer takes more."""


def most_of(unit: str) -> int:
    """The largest number of that unit, where nothing smaller is said."""
    return MS_MAX if unit == "ms" else NUMBER_MAX


@dataclass(frozen=True, slots=True)
class Parameter:
    """What an annotation says of a number, a text or a target."""

    says: str
    """What it means, as the end of the sentence "it is ..."."""
    unit: str = ""
    at_least: int | None = None
    at_most: int | None = None
    choices: tuple[str, ...] = ()
    """Of a text; empty: any."""
    is_younger: bool = False
    """True when there are recorded faults without it: its default is left out of JSON."""
    plays: str = ""
    """Of a target: `victim`, which is one broker, or `receiver`, which may be all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One parameter of a kind of fault."""

    name: str
    type: type
    """`int`, `str`, `bool`, `Target`, or `tuple` for broker ids."""
    may_be_none: bool
    default: Any
    """`MISSING` when it must be given."""
    parameter: Parameter

    @property
    def is_required(self) -> bool:
        """True when there is no default."""
        return self.default is MISSING

    @property
    def range(self) -> str:
        """The values that it takes, in words."""
        rule = self.parameter
        if rule.choices:
            return ", ".join(choice or "''" for choice in rule.choices)
        if self.type is int and rule.at_most is not None:
            words = f"{rule.at_least or 0} to {rule.at_most}"
        elif self.type is int and rule.at_least is not None:
            words = f"{rule.at_least} or more"
        else:
            words = _NOUNS[self.type]
        return f"{words}, or none" if self.may_be_none else words

    def check(self, kind: str, value: Any) -> None:  # noqa: ANN401
        """Raise `FaultError` when the value is outside of its range."""
        rule = self.parameter
        if isinstance(value, Target):
            if rule.plays == "victim" and value.role is Role.ANY:
                raise FaultError(
                    f"{kind}: the target 'any' is for receivers only; name one broker or role"
                )
            return
        if rule.choices and value not in rule.choices:
            known = ", ".join(choice for choice in rule.choices if choice)
            empty = ", or leave it empty" if "" in rule.choices else ""
            raise FaultError(f"{kind}: {self.name} {value!r} is none; choose one of {known}{empty}")
        self._check_number(kind, value)

    def _check_number(self, kind: str, value: Any) -> None:  # noqa: ANN401
        rule = self.parameter
        size, name = value, self.name
        if isinstance(value, tuple):
            size, name = len(value), f"the number of brokers in {self.name}"
        if not isinstance(size, int):
            return
        if rule.at_least is not None and size < rule.at_least:
            raise FaultError(f"{kind}: {name} is {size}; give {rule.at_least} or more")
        most = most_of(rule.unit) if rule.at_most is None else rule.at_most
        if size > most:
            raise FaultError(f"{kind}: {name} is {size}; give {most} or less")

    def read(self, value: object) -> Any:  # noqa: ANN401
        """The value that JSON holds; raises `FaultError` for one of another type."""
        if value is None and self.may_be_none:
            return None
        if self.type is Target:
            return parse_target(str(value))
        if self.type is tuple:
            if not isinstance(value, list) or not all(type(one) is int for one in value):
                raise FaultError(f"{self.name} is {value!r}; give a list of broker ids")
            return tuple(value)
        if type(value) is not self.type:
            raise FaultError(f"{self.name} is {value!r}; give a {_NOUNS[self.type]}")
        return value


_NOUNS: dict[type, str] = {
    str: "text",
    int: "whole number",
    bool: "true or false",
    Target: "broker id or role",
    tuple: "list of broker ids",
}


_FIELDS: dict[type, tuple[Field, ...]] = {}


def fields_of(fault_class: type) -> tuple[Field, ...]:
    """The parameters of a class of faults, in their order."""
    if fault_class not in _FIELDS:
        _FIELDS[fault_class] = _read_annotations(fault_class)
    return _FIELDS[fault_class]


def _read_annotations(fault_class: type) -> tuple[Field, ...]:
    hints = get_type_hints(fault_class, include_extras=True)
    return tuple(
        _field(fault_class, item.name, hints[item.name], item.default)
        for item in fields(fault_class)
    )


def check_fields(kind: str, fault: object) -> None:
    """Raise `FaultError` when a parameter of `fault` is outside of its range."""
    for item in fields_of(type(fault)):
        item.check(kind, getattr(fault, item.name))


def _field(fault_class: type, name: str, hint: Any, default: object) -> Field:  # noqa: ANN401
    plain, *said = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
    assert said, f"{fault_class.__name__}.{name} has no Parameter"
    parameter = said[0]
    assert isinstance(parameter, Parameter)
    may_be_none = get_origin(plain) in (Union, types.UnionType)
    if may_be_none:
        plain = next(one for one in get_args(plain) if one is not type(None))
    plain = get_origin(plain) or plain
    assert plain in _NOUNS, f"{fault_class.__name__}.{name}: {plain} is no type of a parameter"
    return Field(
        name=name, type=plain, may_be_none=may_be_none, default=default, parameter=parameter
    )
