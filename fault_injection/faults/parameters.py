"""The parameters of faults: their types, bounds and JSON Schema, all from the annotations.

A field `for_ms: Annotated[int, milliseconds("how long it lasts", ge=1)]` is the only description
of a parameter: msgspec checks values and makes the schema by it. What msgspec refuses is told here
in one sentence.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from fencepost.fault_injection.faults.targets import FaultError, Target, parse_target

NUMBER_MAX = (1 << 63) - 1
"""What every program that reads a trace can hold."""
MS_MAX = (1 << 31) - 1
"""Some 24 days; no timer takes more."""
ONE_BROKER = {"$ref": "#/$defs/one_broker"}
ANY_RECEIVER = {"$ref": "#/$defs/receiver"}

Json = dict[str, Any]
AnyFault = TypeVar("AnyFault", bound=Struct)

_AT_FIELD = re.compile(r" - at `\$\.(\w+)")
_NAMED_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`")
_NOUNS = {
    "string": "text",
    "integer": "whole number",
    "boolean": "true or false",
    "array": "list of broker ids",
}


def number(description: str, *, ge: int, le: int = NUMBER_MAX, unit: str = "") -> Meta:
    """A whole number within these bounds."""
    shown = {"x-unit": unit} if unit else None
    return Meta(description=description or None, ge=ge, le=le, extra_json_schema=shown)


def milliseconds(description: str, *, ge: int, le: int = MS_MAX) -> Meta:
    """A time in milliseconds within these bounds."""
    return number(description, ge=ge, le=le, unit="ms")


@cache
def schema_of(fault_class: type[Struct]) -> Json:
    """The JSON Schema of a class; targets refer to `#/$defs/one_broker` or `receiver`."""
    _, schemas = msgspec.json.schema_components([fault_class], schema_hook=_schema_of_target)
    schema: Json = schemas[fault_class.__name__]
    return schema


def parameters_of(fault_class: type[Struct]) -> dict[str, Json]:
    """The JSON Schema of each parameter, in the order of the JSON form."""
    properties: Json = schema_of(fault_class)["properties"]
    return {name: properties[name] for name in fault_class.__struct_fields__}


def is_required(fault_class: type[Struct], name: str) -> bool:
    """True when the parameter has no default."""
    return name in schema_of(fault_class)["required"]


def range_of(parameter: Json) -> str:
    """The values that a parameter takes, in words."""
    if "anyOf" in parameter:
        return f"{range_of(parameter['anyOf'][0])}, or none"
    if "enum" in parameter:
        return ", ".join(choice or "''" for choice in parameter["enum"])
    least, most = parameter.get("minimum"), parameter.get("maximum")
    if most not in (None, MS_MAX, NUMBER_MAX):
        return f"{least} to {most}"
    return f"{least} or more" if least is not None else noun_of(parameter)


def noun_of(parameter: Json) -> str:
    """The type of a parameter, in words."""
    return _NOUNS.get(parameter.get("type", ""), "broker id or role")


def check_values(kind: str, fault: Struct) -> None:
    """Raise `FaultError` when a parameter of `fault` is of another type or out of its bounds."""
    try:
        msgspec.convert(fault, _unchecked(type(fault)), from_attributes=True)
    except msgspec.ValidationError as error:
        raise _refused(kind, type(fault), fault.__getattribute__, error) from error


def read_values(kind: str, fault_class: type[AnyFault], given: Json) -> AnyFault:
    """The fault with these parameters in their JSON form; raises `FaultError`."""
    try:
        return msgspec.convert(given, fault_class, dec_hook=_read_target)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, FaultError):
            raise error.__cause__ from error
        raise _refused(kind, fault_class, given.__getitem__, error) from error


@cache
def _unchecked(fault_class: type[Struct]) -> type[Struct]:
    """The same fields without `__post_init__`: what a fault that was made in Python is read as."""
    fields = [(item.name, item.type) for item in msgspec.structs.fields(fault_class)]
    return msgspec.defstruct(fault_class.__name__, fields)


def _read_target(_: type, value: object) -> Target:
    return parse_target(str(value))


def _schema_of_target(_: type) -> Json:
    return ANY_RECEIVER


def _refused(
    kind: str,
    fault_class: type[Struct],
    value_of: Callable[[str], object],
    error: msgspec.ValidationError,
) -> FaultError:
    """What msgspec says, with the value and what to give instead."""
    if at_field := _AT_FIELD.search(str(error)):
        name = at_field[1]
        return FaultError(
            f"{kind}: {_wrong(name, value_of(name), parameters_of(fault_class)[name])}"
        )
    object_field = _NAMED_FIELD.search(str(error))
    assert object_field is not None, error
    has = "needs the" if object_field[1] == "missing required" else "has no"
    return FaultError(f"{kind} {has} field {object_field[2]!r}")


def _wrong(name: str, value: object, parameter: Json) -> str:
    rule = parameter["anyOf"][0] if "anyOf" in parameter else parameter
    if "enum" in rule:
        known = ", ".join(filter(None, rule["enum"]))
        empty = ", or leave it empty" if "" in rule["enum"] else ""
        return f"{name} {value!r} is none; choose one of {known}{empty}"
    if isinstance(value, list | tuple) and not value and "minItems" in rule:
        return f"the number of brokers in {name} is 0; give {rule['minItems']} or more"
    if type(value) is not int or rule.get("type") != "integer":
        return f"{name} is {value!r}; give a {noun_of(rule)}"
    if value < rule["minimum"]:
        return f"{name} is {value}; give {rule['minimum']} or more"
    return f"{name} is {value}; give {rule['maximum']} or less"
