"""Faults as JSON: how they stand in traces, schedules and scenario files."""

from typing import Any

from fencepost.fault_injection.faults.catalogue import kind_of
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.parameters import Field, fields_of
from fencepost.fault_injection.faults.targets import FaultError, Target


def as_json(fault: Fault) -> dict[str, Any]:
    """`fault` as a JSON object, its kind first."""
    values = {item.name: _plain(getattr(fault, item.name)) for item in _told(fault)}
    return {"fault": fault.kind, **values}


def fault_from_json(document: object, *, where: str = "fault") -> Fault:
    """The fault that `as_json` wrote; raises `FaultError`, which begins with `where`."""
    if not isinstance(document, dict):
        raise FaultError(f"{where}: expected a JSON object, found {document!r}")
    given = dict(document)
    try:
        return make_fault(str(given.pop("fault", None)), given)
    except FaultError as error:
        raise FaultError(f"{where}: {error}") from error


def make_fault(kind: str, given: dict[str, Any]) -> Fault:
    """The fault of a kind with these parameters in their JSON form; raises `FaultError`."""
    fault_class = kind_of(kind).fault_class
    known = {item.name: item for item in fields_of(fault_class)}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise FaultError(f"{kind} has no field {unknown[0]!r}")
    missing = [name for name, item in known.items() if item.is_required and name not in given]
    if missing:
        raise FaultError(f"{kind} needs the field {missing[0]!r}")
    return fault_class(**{name: known[name].read(value) for name, value in given.items()})


def _told(fault: Fault) -> list[Field]:
    fields = fields_of(type(fault))
    return [f for f in fields if not f.parameter.is_younger or getattr(fault, f.name) != f.default]


def _plain(value: object) -> object:
    if isinstance(value, Target):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
