"""The laws of the core beside its purity: rules are data, and traces are made in few places."""

import ast
import re
import subprocess
import sys

import pytest

from fencepost.impl.core.types.actions import action
from fencepost.spec.vocabulary import Action, snake_case
from tests.test_tidy import PACKAGE, ROOT, arrows, core_modules, name_of, nodes_of

FOREIGN_WORDS = re.compile(r"mutant|ProtocolLevel", re.IGNORECASE)
"""A level is rules, and so is a mutant: the core asks its rules, and not where they come from."""
WITHOUT_MUTANTS = """
import importlib, sys
sys.modules["fencepost.impl.mutants"] = None
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def test_the_core_knows_neither_mutants_nor_the_number_of_its_level() -> None:
    found = {
        f"{name_of(path)}:{number}"
        for path in core_modules()
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if FOREIGN_WORDS.search(line)
    }

    assert found == set()


def test_the_core_is_complete_without_mutants() -> None:
    names = (name_of(path).removesuffix(".py").replace("/", ".") for path in core_modules())
    command = [sys.executable, "-c", WITHOUT_MUTANTS, *(PACKAGE + name for name in names)]

    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)

    assert (done.returncode, done.stderr) == (0, "")


def test_lines_of_the_trace_are_made_in_one_place() -> None:
    makers = {
        name_of(path)
        for path in core_modules()
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and "ActionTaken" in map(ast.unparse, (node.func, *node.args))
    }

    assert makers == {"impl/core/types/actions.py"}


def test_every_action_is_declared_by_its_function() -> None:
    declared = [
        node.name
        for path in core_modules()
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if ast.unparse(decorator) == "action"
    ]

    assert sorted(declared) == sorted(snake_case(action) for action in Action)


def test_a_function_of_no_action_is_none() -> None:
    def seize_power() -> None: ...

    with pytest.raises(KeyError, match="seize_power"):
        action(seize_power)


def test_znodes_are_written_in_one_way() -> None:
    """Where the table `MAY_WRITE` is asked."""
    makers = [
        name_of(path)
        for path in core_modules()
        for node in nodes_of(path)
        if isinstance(node, ast.Yield) and ast.unparse(node).startswith("(yield WriteZnodes(")
    ]

    assert makers == ["impl/core/rules/znode_writes.py"]


YIELDS = (ast.Yield, ast.YieldFrom)
LAYERS = (
    ("types",),
    ("rules",),
    ("levels", "config"),
    ("broker",),
    ("controller", "metadata", "configuration"),
    ("admin",),
    ("node",),
)
"""Parts of the core: each imports its own layer and the layers before it."""


def layer_of(module: str) -> int | None:
    """The layer of a module `impl.core.<part>…`; None of modules outside the core."""
    room, _, rest = module.partition("impl.core.")
    part = rest.partition(".")[0]
    found = (number for number, parts in enumerate(LAYERS) if not room and part in parts)
    return next(found, None)


def test_the_layers_of_the_core_are_a_strict_order() -> None:
    graph = arrows(core_modules())
    climbing = {
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in others
        if (layer_of(name) or 0) < (layer_of(other) or 0)
    }

    assert climbing == set()
    assert {name for name in graph if layer_of(name) is None} == {"impl.core"}
    assert len(LAYERS) <= 7


def kept_rules(function: ast.AST) -> set[int]:
    """Lines that bind the rules to a local of a function that waits for ZooKeeper."""
    if not any(isinstance(node, YIELDS) for node in ast.walk(function)):
        return set()
    bound = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
    return {
        node.lineno
        for node in bound
        for value in (node.value.elts if isinstance(node.value, ast.Tuple) else [node.value])
        if ast.unparse(value).endswith("config.rules")
    }


def test_no_script_keeps_rules_while_it_waits() -> None:
    kept = {
        f"{name_of(path)}:{line}"
        for path in core_modules()
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef)
        for line in kept_rules(node)
    }

    assert kept == set()


def test_kept_rules_are_seen() -> None:
    script = """
def script(self):
    session, rules = self._session, self._config.rules
    yield
    rules.after()
"""

    assert kept_rules(ast.parse(script)) == {3}


def test_rules_are_asked_anew_each_time() -> None:
    """Stepped runs exchange the rules of a `Config` while its node runs: no other may be kept."""
    kept = {
        f"{name_of(path)}:{node.lineno}"
        for path in core_modules()
        for node in nodes_of(path)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        if re.search(r"\bconfig\.rules\b|^rules\b", ast.unparse(node.value))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute)
    }

    assert kept == set()
