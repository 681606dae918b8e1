"""What another project imports: `from fencepost.fault_injection import PauseBroker`."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from fencepost import fault_injection
from fencepost.fault_injection import PauseBroker, leader
from fencepost.fault_injection.faults.catalogue import KINDS
from tests.fault_injection.conftest import ROOT

IMPORTED = "import sys, fencepost.fault_injection.processes.reaper; print(*sys.modules)"


def test_every_kind_of_fault_is_public() -> None:
    assert {kind.fault_class.__name__ for kind in KINDS.values()} <= set(fault_injection.__all__)
    assert PauseBroker(target=leader("orders"), for_ms=5).kind == "proc.pause"


def test_the_stub_names_what_is_there() -> None:
    stub = ast.parse(Path(fault_injection.__file__).with_suffix(".pyi").read_text())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    named = {(str(one.module), name.name) for one in imports for name in one.names}

    assert {name for _, name in named} == set(fault_injection.__all__)
    for module, name in named:
        assert getattr(fault_injection, name) is getattr(import_module(module), name)


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(AttributeError, match=r"fault_injection has no attribute .PauseWorld."):
        fault_injection.PauseWorld  # type: ignore[attr-defined]  # noqa: B018


def test_the_reaper_imports_the_standard_library_only() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-c", IMPORTED], cwd=ROOT, capture_output=True, text=True, check=True
    )

    rooms = {name.partition(".")[0] for name in done.stdout.split()}
    assert rooms - set(sys.stdlib_module_names) <= {"fencepost", "__main__"}
