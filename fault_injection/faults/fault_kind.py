"""What is known of a kind of fault besides its class; said above the class, by `@fault_kind`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.parameters import Json, is_required, parameters_of
from fencepost.spec.vocabulary import EnvironmentAction

RESTARTS = (EnvironmentAction.CRASH_BROKER, EnvironmentAction.RESTART_BROKER)
SESSION_GAP = (EnvironmentAction.SUSPEND_SESSION, EnvironmentAction.RESUME_SESSION)
"""Environment actions of the specs that are several kinds of fault."""

FaultClass = TypeVar("FaultClass", bound=type[Fault])


class Backend(StrEnum):
    """Where a fault can be done."""

    SIM = "sim"
    REAL = "real"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """One kind of fault; what is not said by its class."""

    fault_class: type[Fault]
    injector: str = ""
    """`module:class` below `fault_injection.injectors`; empty: it cannot be done for real."""
    needs_links: bool = False
    """True when the links between members must be ours to hurt from the start of the run."""
    needs_proxy: str = ""
    """Why network namespaces cannot do it and the proxy can, as the end of a sentence."""
    needs_relay: bool = False
    """True when in network namespaces a process of ours keeps packets for it, by a TAP device."""
    missing: Mapping[Backend, str] = field(default_factory=dict)
    """Why a backend cannot do it, as the end of a sentence."""
    evidence: str
    """What proves that it took effect."""
    undo: str
    """How it is undone."""
    requirements: tuple[str, ...]
    """Ids of the catalogue of requirements which it exercises."""
    spec_actions: tuple[EnvironmentAction, ...] = ()
    """What it is in the specs."""
    relaxes: str = ""
    """What is not promised while it is active, as a sentence; empty: every check holds."""

    def __post_init__(self) -> None:
        assert bool(self.injector) != (Backend.REAL in self.missing), self.kind

    @property
    def kind(self) -> str:
        """Its id, `area.name`."""
        return self.fault_class.kind

    @property
    def sentence(self) -> str:
        """The one sentence that says what it does."""
        return (self.fault_class.__doc__ or "").strip()

    @property
    def parameters(self) -> dict[str, Json]:
        """The JSON Schema of each, in the order of its JSON form."""
        return parameters_of(self.fault_class)

    @property
    def required(self) -> list[str]:
        """The parameters without a default."""
        return [name for name in self.parameters if is_required(self.fault_class, name)]

    @property
    def backends(self) -> tuple[Backend, ...]:
        """Those that can do it."""
        return tuple(backend for backend in Backend if backend not in self.missing)


DECLARED: list[FaultKind] = []
"""All kinds, in the order of their declaration."""


def fault_kind(**about: Any) -> Callable[[FaultClass], FaultClass]:  # noqa: ANN401 - as the fields
    """The class below is a kind of fault; `about` are the other fields of `FaultKind`."""

    def declare(fault_class: FaultClass) -> FaultClass:
        DECLARED.append(FaultKind(fault_class=fault_class, **about))
        return fault_class

    return declare
