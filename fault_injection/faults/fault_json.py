"""Faults as JSON: how they stand in traces, schedules and scenario files."""

import msgspec

from fencepost.fault_injection.faults.catalogue import kind_of
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.parameters import Json, read_values
from fencepost.fault_injection.faults.targets import FaultError


def as_json(fault: Fault) -> Json:
    """`fault` as a JSON object, its kind first."""
    values: Json = msgspec.to_builtins(fault, enc_hook=str)
    defaults = {item.name: item.default for item in msgspec.structs.fields(fault)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if name not in fault.left_out or value != defaults[name]
    }


def fault_from_json(document: object, *, where: str = "fault") -> Fault:
    """The fault that `as_json` wrote; raises `FaultError`, which begins with `where`."""
    if not isinstance(document, dict):
        raise FaultError(f"{where}: expected a JSON object, found {document!r}")
    try:
        return make_fault(str(document.get("fault")), document)
    except FaultError as error:
        raise FaultError(f"{where}: {error}") from error


def make_fault(kind: str, given: Json) -> Fault:
    """The fault of a kind with these parameters in their JSON form; raises `FaultError`."""
    return read_values(kind, kind_of(kind).fault_class, given)
