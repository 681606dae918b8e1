"""Each kind of fault has one injector in each world, or a reason why it has none."""

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from fencepost.fault_injection import injectors as real
from fencepost.fault_injection.faults.catalogue import KINDS
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.fault_injection.injectors.dispatch import injector_class
from fencepost.impl.sim import injectors as simulated
from fencepost.impl.sim.injectors.table import INJECTORS

STEPS = ("inject", "evidence", "heal", "healed")
CLASSES: dict[Backend, dict[str, type]] = {
    Backend.REAL: {name: injector_class(name) for name, kind in KINDS.items() if kind.injector},
    Backend.SIM: {fault.kind: found for fault, found in INJECTORS.items()},
}


@pytest.mark.parametrize("world", Backend)
def test_a_kind_has_one_injector_or_a_reason(world: Backend) -> None:
    able = {name for name, kind in KINDS.items() if world in kind.backends}
    gaps = {name: kind.missing[world] for name, kind in KINDS.items() if world in kind.missing}

    assert set(CLASSES[world]) == able
    assert set(gaps) == set(KINDS) - able
    assert all(gaps.values())


@pytest.mark.parametrize("world", Backend)
def test_an_injector_has_every_step(world: Backend) -> None:
    for found in CLASSES[world].values():
        assert all(callable(getattr(found, step)) for step in STEPS), found


@pytest.mark.parametrize(("world", "package"), [(Backend.REAL, real), (Backend.SIM, simulated)])
def test_no_injector_is_without_a_kind(world: Backend, package: ModuleType) -> None:
    """Those that others extend are not whole, or are extended by what a kind has."""
    used = set(CLASSES[world].values())
    for found in injectors_below(package):
        assert inspect.isabstract(found) or any(issubclass(one, found) for one in used), found


def injectors_below(package: ModuleType) -> list[type]:
    """All classes with every step in the modules of a package."""
    names = sorted(path.stem for path in Path(package.__path__[0]).glob("[a-z]*.py"))
    modules = [import_module(f"{package.__name__}.{name}") for name in names]
    return [
        found
        for module in modules
        for _, found in inspect.getmembers(module, inspect.isclass)
        if found.__module__ == module.__name__
        and not getattr(found, "_is_protocol", False)
        and all(hasattr(found, step) for step in STEPS)
    ]
