"""The laws of the house: imports, purity of the core, sizes, names, words, places."""

import ast
import io
import re
import subprocess
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from fencepost.spec.vocabulary import Invariant

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("spec", "impl", "conformance", "fault_injection", "reports", "ci", "tests")
PACKAGE = "fencepost."
"""What users import; in the checkout it has a link to each room."""
MAY_IMPORT = {
    "spec": set(),
    "fault_injection": {"spec"},
    "impl": {"spec"},
    "impl.sim": {"spec", "fault_injection"},
    "conformance": {"spec", "fault_injection"},
    "reports": {"spec", "conformance"},
    "ci": {"spec", "conformance", "fault_injection", "reports"},
    "tests": set(ROOMS),
}
ONLY_IN = {
    "kazoo": (
        "impl/shell/zookeeper/client.py",
        "impl/shell/zookeeper/multi_read.py",
        "fault_injection/zookeeper/client.py",
        "fault_injection/zookeeper/sessions.py",
    ),
    "grpc": (
        "impl/shell/rpc/grpc_server.py",
        "impl/shell/rpc/service.py",
        "impl/shell/stepped/pacer_service.py",
        "impl/client/connections.py",
        "conformance/adapters/grpc_transport.py",
        "fault_injection/engine/rpc_rules.py",
        "fault_injection/processes/pacing.py",
        "ci/bench/fuzz.py",
    ),
    "pyspark": ("reports/",),
}
PURE = "impl/core/"
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "breakpoint", "__import__"}
FUNCTION_LINES_MAX = 60
FILE_LINES_MAX = 500
FOLDER_FILES_MAX = 15
FAMILIES_OF_EQUALS = frozenset(
    {
        "ci/bench",
        "ci/commands",
        "conformance/checks",
        "fault_injection/faults",
        "fault_injection/injectors",
        "impl/mutants",
        "spec/tla",
    }
)
"""One bench, check, command, kind of fault, family of mutants or module per file, however many."""
PERSONS = re.compile(r"\b(?:who|whom|whose|nobody|somebody|anybody|everybody)\b", re.IGNORECASE)
PERSONS_LEFT = re.compile(r"tests/(?:impl|fault_injection)/.*|tests/test_tidy\.py")
"""Files that still speak of persons."""
WORDS = frozenset({".py", ".md", ".j2", ".tla", ".cfg", ".toml", ".yaml", ".proto"})
"""Suffixes of the files that people read."""
GENERATED = re.compile(r"_pb2(_grpc)?\.pyi?$")
REGISTRY = re.compile(
    r"(?:https?|ftp)://[\w.-]*(?:pypi|pythonhosted|npmjs|docker|maven|golang|crates)\b|--(?:extra-)?index-url"
)
MACHINE_PATH = re.compile(r"(?<![\w.<{$*)])/(?:home|root|Users|work|tmp)/[\w.-]+")


@cache
def committed() -> tuple[Path, ...]:
    """Every file of the project: tracked, or about to be; from the folder itself without git."""
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return tuple(path for room in ROOMS for path in sorted((ROOT / room).rglob("*.*")))
    paths = (ROOT / name for name in listed.split("\0") if name)
    return tuple(path for path in sorted(paths) if path.is_file())


@cache
def sources() -> tuple[Path, ...]:
    """Every Python file that a person wrote."""
    return tuple(
        path for path in committed() if path.suffix == ".py" and not GENERATED.search(path.name)
    )


@cache
def text_of(path: Path) -> str:
    return path.read_text()


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Every node of the syntax tree of a module."""
    return tuple(ast.walk(ast.parse(text_of(path), filename=str(path))))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and module name of each import, those inside functions included.

    A room is named without the package in which all of them are, and so is `from fencepost import`.
    """
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.removeprefix(PACKAGE)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and f"{node.module}." == PACKAGE:
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, (node.module or ".").removeprefix(PACKAGE)


def law_of(path: Path) -> tuple[str, set[str]]:
    room, *rest = path.relative_to(ROOT).parts
    wing = f"{room}.{rest[0]}" if rest else room
    return room, MAY_IMPORT.get(wing, MAY_IMPORT.get(room, set(ROOMS)))


def trespasses(path: Path) -> list[str]:
    room, allowed = law_of(path)
    return [
        f"{name_of(path)}:{line}: {room} imports {module}"
        for line, module in imports_of(path)
        if (other := module.split(".")[0]) in ROOMS and other != room and other not in allowed
    ]


def test_there_is_something_to_look_at() -> None:
    assert len(sources()) > 20
    assert {path.relative_to(ROOT).parts[0] for path in sources()} >= set(ROOMS)


def test_rooms_import_only_what_their_law_allows() -> None:
    assert [found for path in sources() for found in trespasses(path)] == []


def test_a_trespass_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.test_tidy.ROOT", tmp_path)
    intruder = tmp_path / "conformance" / "peek.py"
    intruder.parent.mkdir()
    intruder.write_text("def f():\n    from fencepost.impl.core import broker\n")

    assert trespasses(intruder) == ["conformance/peek.py:2: conformance imports impl.core"]


def test_foreign_packages_with_a_side_effect_stay_in_their_modules() -> None:
    strays = [
        f"{name_of(path)}:{line}: {module} belongs in {ONLY_IN[package]}"
        for path in sources()
        if not name_of(path).startswith(("tests/", "spec/wire/"))
        for line, module in imports_of(path)
        if (package := module.split(".")[0]) in ONLY_IN
        and not name_of(path).startswith(ONLY_IN[package])
    ]
    assert strays == []


def banned_in_core() -> set[str]:
    rules = tomllib.loads((ROOT / PURE / "ruff.toml").read_text())
    return set(rules["lint"]["flake8-tidy-imports"]["banned-api"])


def impurities(path: Path, banned: set[str]) -> list[str]:
    """What in `path` has a clock, chance, I/O or a life of its own."""
    found = [
        f"{path.name}:{line}: imports {module}"
        for line, module in imports_of(path)
        if module.split(".")[0] in banned
    ]
    for node in nodes_of(path):
        if isinstance(node, ast.AsyncFunctionDef | ast.Global):
            found.append(f"{path.name}:{node.lineno}: {type(node).__name__}")
        if isinstance(node, ast.Call) and ast.unparse(node.func) in IMPURE_CALLS:
            found.append(f"{path.name}:{node.lineno}: calls {ast.unparse(node.func)}")
    return found


def core_modules() -> list[Path]:
    return [path for path in sources() if name_of(path).startswith(PURE)]


def test_the_ban_names_every_source_of_impurity() -> None:
    owed = {"asyncio", "grpc", "io", "kazoo", "logging", "os", "pathlib", "random", "secrets"}
    owed |= {"socket", "subprocess", "tempfile", "threading", "time", "datetime", "uuid"}
    assert banned_in_core() >= owed


def test_the_core_is_pure() -> None:
    banned = banned_in_core()
    assert [found for path in core_modules() for found in impurities(path, banned)] == []


def test_an_impurity_is_seen(tmp_path: Path) -> None:
    module = tmp_path / "clock.py"
    module.write_text("def f():\n    import time\n    print(time.time())\n")

    assert impurities(module, {"time"}) == ["clock.py:2: imports time", "clock.py:3: calls print"]


WHITEBOX = "conformance/whitebox/"
KNOWS_CAPABILITIES = (
    "conformance/adapters/implementation.py",
    "conformance/adapters/reference.py",
    "conformance/catalogue/",
)
"""Where capabilities that only the reference has are declared, or requirements list its mutants."""
REFERENCE_ONLY = re.compile(r"mutant|simulat|stepped|paced|whitebox|fencepost\.impl", re.IGNORECASE)


def reference_words(path: Path) -> Iterator[str]:
    """Names and imports by which a module speaks of what only the reference can do."""
    for node in nodes_of(path):
        names = [getattr(node, name, None) for name in ("id", "attr", "arg", "name", "module")]
        for name in names:
            if isinstance(name, str) and REFERENCE_ONLY.search(name):
                yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}: {name}"


def test_only_whitebox_knows_simulator_and_mutants() -> None:
    looked = [path for path in sources() if path.is_relative_to(ROOT / "conformance")]
    names = {path: path.relative_to(ROOT).as_posix() for path in looked}
    allowed = (WHITEBOX, *KNOWS_CAPABILITIES)

    found = [
        word
        for path in looked
        if not names[path].startswith(allowed)
        for word in reference_words(path)
    ]

    assert not found


def test_functions_stay_short() -> None:
    long = [
        f"{name_of(path)}:{node.lineno}: {node.name} has {length} lines"
        for path in sources()
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_files_stay_short() -> None:
    long = [
        f"{name_of(path)} has {length} lines"
        for path in sources()
        if (length := len(text_of(path).splitlines())) > FILE_LINES_MAX
    ]
    assert long == []


def test_modules_have_names_that_say_something() -> None:
    bad = {"utils", "util", "helpers", "helper", "misc", "common", "manager", "base"}
    named_badly = [
        name_of(path)
        for path in sources()
        if path.stem in bad or (path.stem.startswith("_") and not path.stem.startswith("__"))
    ]
    assert named_badly == []


def is_product(path: Path) -> bool:
    return path.relative_to(ROOT).parts[0] in ROOMS and not name_of(path).startswith("tests/")


def product() -> list[Path]:
    return [path for path in sources() if is_product(path)]


def arrows(paths: Iterable[Path]) -> dict[str, set[str]]:
    """Module -> the modules that it imports, in functions and for type checkers too."""
    names = {
        name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", "."): path
        for path in paths
    }
    return {
        name: {
            other
            for node in nodes_of(path)
            for other in imported_modules(node)
            # A package's `__init__` runs before each of its modules; that is no cycle.
            if other in names and other != name and not name.startswith(f"{other}.")
        }
        for name, path in names.items()
    }


def imported_modules(node: ast.AST) -> list[str]:
    """What an import may mean: `from a import b` is the module `a.b`, or a name in `a`."""
    if isinstance(node, ast.Import):
        return [alias.name.removeprefix(PACKAGE) for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        module = node.module.removeprefix(PACKAGE)
        return [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return []


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        fresh = graph[todo.pop()] - found
        found |= fresh
        todo += fresh
    return found


def cycles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Groups of modules that import each other, directly or not."""
    reach = {name: reachable(graph, name) for name in graph}
    return {
        frozenset(other for other in reach[name] if name in reach[other])
        for name in graph
        if name in reach[name]
    }


def test_no_modules_import_each_other() -> None:
    assert cycles(arrows(product())) == set()


def test_a_cycle_is_seen() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set[str]()}

    assert cycles(graph) == {frozenset("abc")}


def test_a_folder_can_be_overlooked() -> None:
    files = Counter(
        path.parent.relative_to(ROOT).as_posix() for path in product() if path.name != "__init__.py"
    )
    crowded = {folder for folder, count in files.items() if count > FOLDER_FILES_MAX}

    assert crowded <= FAMILIES_OF_EQUALS


def test_a_public_class_name_means_one_thing() -> None:
    names = Counter(
        node.name
        for path in product()
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )

    assert [name for name, count in names.items() if count > 1] == []


def sayings(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each docstring and comment of a module; all lines of a document."""
    if path.suffix != ".py":
        yield from enumerate(text_of(path).splitlines(), start=1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text_of(path)).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
        if token.type == tokenize.STRING and token.string.startswith('"""'):
            yield token.start[0], token.string


def persons(path: Path) -> list[str]:
    """Where `path` speaks of parts of a program as if they were people."""
    return [
        f"{name_of(path)}:{line}: {found.group()}"
        for line, text in sayings(path)
        if (found := PERSONS.search(text))
    ]


def test_documents_speak_of_brokers_and_files() -> None:
    found = [
        person
        for path in committed()
        if path.suffix in WORDS
        and not PERSONS_LEFT.fullmatch(name_of(path))
        and not GENERATED.search(path.name)
        for person in persons(path)
    ]
    assert found == []


def test_a_person_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.test_tidy.ROOT", tmp_path)
    module = tmp_path / "odd.py"
    module.write_text('"""Nobody leads."""\n\nwho = 1  # whose turn\n')

    assert persons(module) == ["odd.py:1: Nobody", "odd.py:3: whose"]


def texts() -> Iterator[tuple[Path, str]]:
    for path in committed():
        try:
            yield path, text_of(path)
        except UnicodeDecodeError:
            continue  # a picture or a jar holds no line for people


@pytest.mark.parametrize("pattern", [REGISTRY, MACHINE_PATH], ids=["registry", "machine path"])
def test_committed_files_name_no_place_of_one_machine(pattern: re.Pattern[str]) -> None:
    found = [
        f"{name_of(path)}:{number}: {line.strip()[:80]}"
        for path, text in texts()
        if path != Path(__file__)
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (REGISTRY, "--index-url https://mirror.example/simple"),
        (REGISTRY, "https://files.pythonhosted.org/x.whl"),
        (MACHINE_PATH, 'root = "/home/somebody/fencepost"'),
        (MACHINE_PATH, "cd /root/fencepost"),
    ],
)
def test_a_place_of_one_machine_is_seen(pattern: re.Pattern[str], line: str) -> None:
    assert pattern.search(line)


def tla_operators() -> set[str]:
    definition = re.compile(r"^(\w+)(?:\([^)]*\))?\s*==", re.MULTILINE)
    modules = (path for path in committed() if path.suffix == ".tla")
    return {name for path in modules for name in definition.findall(text_of(path))}


def invariants_of_checks() -> set[str]:
    """Members of `Invariant` that a module of `fencepost.conformance.checks` names."""
    return {
        node.attr
        for path in sources()
        if name_of(path).startswith("conformance/checks/")
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Invariant"
    }


def test_every_invariant_is_a_check_or_a_tla_operator() -> None:
    checks, operators = invariants_of_checks(), tla_operators()

    assert [one for one in Invariant if one.name not in checks and one not in operators] == []


def locked() -> dict[str, str]:
    """Package -> its block in `requirements.lock`."""
    blocks = re.split(r"\n(?=\w)", (ROOT / "requirements.lock").read_text())
    return {block.split("==")[0].lower(): block for block in blocks if "==" in block}


def test_the_lock_holds_every_dependency_with_a_hash() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    names = {re.split(r"[<>=!~ ;\[]", requirement)[0].lower() for requirement in wanted}

    assert names <= set(locked())
    assert [name for name, block in locked().items() if "--hash=sha256:" not in block] == []
