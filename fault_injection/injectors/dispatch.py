"""From a fault to the injector that does it on real processes, as the catalogue says."""

from importlib import import_module
from typing import Any, cast

from fencepost.fault_injection.faults.catalogue import kind_of
from fencepost.fault_injection.injectors.admin import ChangeInjector, ProcessAdmin
from fencepost.fault_injection.injectors.injection import ResolvedFault
from fencepost.fault_injection.injectors.injector import Injector


def injector_for(resolved: ResolvedFault[Any]) -> Injector[str]:
    """The injector of a fault with its roles resolved."""
    found = injector_class(resolved.fault.kind)
    if issubclass(found, ChangeInjector):
        return cast(Injector[str], found(resolved.fault, ProcessAdmin(resolved.target)))
    return cast(Injector[str], found(resolved))


def injector_class(kind: str) -> Any:  # noqa: ANN401
    """The class that does the faults of a kind."""
    module, _, name = kind_of(kind).injector.partition(":")
    assert name, f"{kind} can only be simulated: the engine lets none pass"
    return getattr(import_module(f"fencepost.fault_injection.injectors.{module}"), name)
