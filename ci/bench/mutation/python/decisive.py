"""Which rules of the core are decisive in a run: an edit of them would decide otherwise there.

A rule is an edit of `python_edits`. It is decisive in a run in which the edited place has, at least
once, another value than the edit would give it: only there can the edit be noticed. All rules are
looked at in one run, by a core that is probed while it is imported.
"""

import builtins
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from fencepost.ci.bench.mutation.python.probed import PROBES, Probes, probed
from fencepost.ci.bench.mutation.python.python_edits import PythonEdit, python_edits
from fencepost.ci.bench.mutation.python.scratch_tree import modules_of

CORE = "impl/core"
CORE_MODULES = "fencepost.impl.core"


def core_edits() -> tuple[PythonEdit, ...]:
    """All rules of the core, in the order of their numbers."""
    return tuple(edit for name, text in modules_of(CORE, ()) for edit in python_edits(name, text))


@contextmanager
def probed_core() -> Iterator[Callable[[Callable[[], object]], frozenset[int]]]:
    """What tells the rules that are decisive while something is done, by their numbers.

    What is decided while the core is imported, as the rules of the levels, is decided for all runs.
    It is a matter of a process of its own: the core must not be imported yet, and stays probed.
    """
    if any(name.startswith(CORE_MODULES) for name in sys.modules):
        raise RuntimeError("the core is imported already, so that it cannot be probed any more")
    probes = Probes()
    setattr(builtins, PROBES, probes)
    finder = _Finder(core_edits())
    sys.meta_path.insert(0, finder)
    for name, _ in modules_of(CORE, ()):
        inner = name.removesuffix("/__init__.py").removesuffix(".py")
        import_module(f"fencepost.{inner}".replace("/", "."))
    at_import = frozenset(probes.decisive)

    def decisive_in(work: Callable[[], object]) -> frozenset[int]:
        probes.decisive = set(at_import)
        work()
        return frozenset(probes.decisive)

    try:
        yield decisive_in
    finally:
        sys.meta_path.remove(finder)


class _Finder(MetaPathFinder):
    """Finds the core's modules where they are, for a loader that probes them."""

    def __init__(self, edits: Sequence[PythonEdit]) -> None:
        self._edits: dict[str, list[tuple[int, PythonEdit]]] = {}
        for number, edit in enumerate(edits):
            self._edits.setdefault(edit.module, []).append((number, edit))

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module with another loader; None for modules of other rooms."""
        if not fullname.startswith(f"{CORE_MODULES}."):
            return None
        found = PathFinder.find_spec(fullname, path, target)
        if found is not None and found.origin is not None:
            _, core, rest = found.origin.rpartition(f"/{CORE}/")
            edits = self._edits.get(f"{core}{rest}".lstrip("/"), [])
            found.loader = _Loader(fullname, found.origin, edits)
        return found


class _Loader(SourceFileLoader):
    """Compiles a module with probes, and keeps no bytecode."""

    def __init__(self, name: str, path: str, edits: Sequence[tuple[int, PythonEdit]]) -> None:
        super().__init__(name, path)
        self._edits = edits

    def get_code(self, _fullname: str) -> CodeType:
        """Of the text with probes."""
        tree = probed(Path(self.path).read_text(), self._edits)
        return compile(tree, self.path, "exec", dont_inherit=True)
