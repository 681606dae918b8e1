"""The kinds of faults as a table for people, and as JSON for machines: both from the catalogue."""

from pathlib import Path

from fencepost.fault_injection.faults.catalogue import KINDS
from fencepost.fault_injection.faults.fault_kind import FaultKind
from fencepost.fault_injection.faults.parameters import Json, range_of
from fencepost.fault_injection.faults.targets import FaultError

README = Path("fault_injection/README.md")
BEGIN = "<!-- table: faults -->"
END = "<!-- end of faults -->"


def as_document(kind: FaultKind) -> Json:
    """All about a kind, for machines."""
    return {
        "kind": kind.kind,
        "sentence": kind.sentence,
        "parameters": [_parameter(*item) for item in kind.parameters.items()],
        "backends": list(kind.backends),
        "missing": {str(backend): why for backend, why in kind.missing.items()},
        "needs_proxy": kind.needs_proxy,
        "evidence": kind.evidence,
        "undo": kind.undo,
        "relaxes": kind.relaxes,
        "requirements": list(kind.requirements),
        "spec_actions": list(kind.spec_actions),
    }


def _parameter(name: str, rule: Json) -> Json:
    return {
        "name": name,
        "unit": rule.get("x-unit", ""),
        "range": range_of(rule),
        "says": rule["description"],
        **({"default": rule["default"]} if "default" in rule else {}),
    }


def refreshed(text: str) -> str:
    """The page with its table renewed; raises `FaultError` when there is no place for it."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise FaultError(f"{README}: there is no place for the table; write {BEGIN} and {END}")
    return f"{head}{BEGIN}\n{markdown()}{END}{tail}"


def markdown() -> str:
    """One row per kind."""
    rows = [
        f"| `{kind.kind}` | {kind.sentence} | {_names(kind)} | {_where(kind)} | "
        f"{kind.evidence} | {kind.undo} |\n"
        for kind in KINDS.values()
    ]
    head = "| kind | what happens | parameters | backends | evidence | undone by |\n"
    return "".join((head, "|---|---|---|---|---|---|\n", *rows))


def _names(kind: FaultKind) -> str:
    return ", ".join(f"`{name}`" for name in kind.parameters) or "none"


def _where(kind: FaultKind) -> str:
    able = ", ".join(kind.backends)
    lacks = [f"not {name}: {why}" for name, why in kind.missing.items()]
    lacks += [f"by the proxy only: {kind.needs_proxy}"] if kind.needs_proxy else []
    return "; ".join((able, *lacks))
