"""What is known of a kind of fault besides its class; each area's module lists its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.parameters import Json, is_required, parameters_of
from fencepost.spec.vocabulary import EnvironmentAction


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
    missing: Mapping[Backend, str]
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
