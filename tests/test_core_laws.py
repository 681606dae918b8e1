"""The laws of the core beside its purity: rules are data, and traces are made in few places."""

import re
import subprocess
import sys

from tests.test_tidy import PACKAGE, ROOT, core_modules, name_of

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


def test_the_lines_of_a_brokers_actions_are_made_in_one_module() -> None:
    makers = [
        name_of(path)
        for path in core_modules()
        if path.parent.name in {"broker", "core"}
        and re.search(r"\bActionTaken\(", path.read_text())
    ]

    assert makers == ["impl/core/broker/action_lines.py"]
