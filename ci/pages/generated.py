"""Writes what is generated from specs, faults and counterexamples; `--check` only compares.

`python -m fencepost.ci.pages.generated [--check]`. Exit code 0 when all is fresh, 1 when `--check`
finds a difference, 3 when the generator fails.
"""

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

from grpc_tools import protoc

from fencepost.ci.pages import stepped_hazards
from fencepost.conformance.adapters.remote import messages
from fencepost.conformance.suite import records
from fencepost.fault_injection.faults import table
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.fault_injection.stories import story_schema
from fencepost.spec.pages import pages
from fencepost.spec.trace import json_schema

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "fencepost"
"""The rooms are imported below it."""
WIRE = Path("spec/wire")
SCHEMA = Path("spec/trace.schema.json")
PROTOS = ("replication", "fault_control", "pacer")
SUFFIXES = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py")
EXIT_STALE = 1
EXIT_FAILED = 3


class GeneratorError(Exception):
    """A generator failed; the message is one sentence."""


def main(arguments: Sequence[str]) -> int:
    """Write or compare; returns the exit code."""
    if any(argument != "--check" for argument in arguments):
        sys.stderr.write("usage: python -m fencepost.ci.pages.generated [--check]\n")
        return 4
    try:
        stale = sorted(refresh(ROOT, only_compare="--check" in arguments))
    except GeneratorError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_FAILED
    for path in stale:
        print(
            f"{path} is stale; run python -m fencepost.ci.pages.generated"
            if arguments
            else f"{path} written"
        )
    return EXIT_STALE if arguments and stale else 0


def refresh(root: Path, *, only_compare: bool) -> list[Path]:
    """The generated files below `root` that were not fresh; they are now, unless compared only."""
    stale = []
    for path, content in generate(root):
        target = root / path
        if target.is_file() and target.read_bytes() == content:
            continue
        stale.append(path)
        if not only_compare:
            target.write_bytes(content)
    return stale


def generate(root: Path) -> Iterator[tuple[Path, bytes]]:
    """Path below the project and content of each generated file, from the sources in `root`."""
    with TemporaryDirectory() as folder:
        shutil.copytree(
            root / WIRE, Path(folder) / PACKAGE / WIRE, ignore=shutil.ignore_patterns("*_pb2*")
        )
        _compile(Path(folder))
        for name in PROTOS:
            for suffix in SUFFIXES:
                path = WIRE / f"{name}{suffix}"
                yield path, (Path(folder) / PACKAGE / path).read_bytes()
    yield SCHEMA, json.dumps(json_schema(), indent=2).encode() + b"\n"
    yield messages.SCHEMA, messages.schema_text().encode()
    yield records.SCHEMA_FILE, records.schema_text().encode()
    yield story_schema.SCHEMA, story_schema.schema_text().encode()
    try:
        yield from ((path, text.encode()) for path, text in pages(root))
        yield stepped_hazards.PAGE, stepped_hazards.page().encode()
        yield table.README, table.refreshed((root / table.README).read_text()).encode()
    except FaultError as error:
        raise GeneratorError(str(error)) from error


def _compile(folder: Path) -> None:

    protos = [str(folder / PACKAGE / WIRE / f"{name}.proto") for name in PROTOS]
    outputs = [f"--{kind}_out={folder}" for kind in ("python", "pyi", "grpc_python")]
    includes = [f"-I{folder}", f"-I{resources.files('grpc_tools') / '_proto'}"]
    if protoc.main(["protoc", *includes, *outputs, *protos]) != 0:
        raise GeneratorError("the wire code could not be generated from spec/wire/*.proto")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
