"""From a fault to the injection that does it on real processes, as the catalogue says."""

from importlib import import_module
from typing import Any, cast

from fencepost.fault_injection.faults.catalogue import kind_of
from fencepost.fault_injection.injectors.injection import Deed, Injection


def injection_of(deed: Deed[Any]) -> Injection:
    """How the fault is done to whom its roles resolved to."""
    return cast(Injection, injector_class(deed.fault.kind)(deed))


def injector_class(kind: str) -> Any:  # noqa: ANN401
    """The class that does the faults of a kind, from one `Deed`."""
    module, _, name = kind_of(kind).injector.partition(":")
    assert name, f"{kind} can only be simulated: the engine lets none pass"
    return getattr(import_module(f"fencepost.fault_injection.injectors.{module}"), name)
