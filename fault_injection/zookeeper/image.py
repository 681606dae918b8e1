"""Builds an image of ZooKeeper from what is on this machine, where none can be pulled.

`python -m fencepost.fault_injection.zookeeper.image [NAME]` needs an engine and no network: the
image holds Java, the libraries that it loads, and the jars of PySpark, so that its server is that
of runs without containers. It runs what `/conf/zoo.cfg` configures. Runs build it where they must.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from fencepost.fault_injection.processes.container_engine import (
    DEFAULT_HOST,
    HOST_VARIABLE,
    answers,
    client_of,
)
from fencepost.fault_injection.zookeeper.server import JAVA_OPTIONS, MEMBER_CLASS, find_jars
from fencepost.spec.java import JavaNotFoundError, find_java
from fencepost.spec.zookeeper import ZooKeeperError

NAME = "fencepost-zookeeper"
JARS = "/zookeeper"
UNUSED = frozenset({"jmods", "demo", "docs", "include", "legal", "man", "src.zip"})
"""Of a Java for developers."""
OF_SCREENS = ("libawt", "libfontmanager", "libsplashscreen", "libatk", "libjawt")
LOOKED_UP = ("libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2")
"""What the C library loads without naming it, where it does not hold it itself."""
EXIT_FAILED = 3
EXIT_USAGE = 4

_LIBRARY = re.compile(r"(/\S+) \(0x")


class ImageError(ZooKeeperError):
    """The image was not built; one sentence says why."""


def main(arguments: Sequence[str]) -> int:
    """Build the image; returns the exit code."""
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        sys.stderr.write("usage: python -m fencepost.fault_injection.zookeeper.image [NAME]\n")
        return EXIT_USAGE
    try:
        engine = os.environ.get(HOST_VARIABLE, DEFAULT_HOST)
        name = build(engine, next(iter(arguments), NAME))
    except ImageError as error:
        sys.stderr.write(f"zookeeper_image: {error}\n")
        return EXIT_FAILED
    sys.stdout.write(f"{name} is there; use it with FENCEPOST_ZOOKEEPER_IMAGE={name}\n")
    return 0


def build(engine: str, name: str = NAME) -> str:
    """Build the image and load it into the engine as `name`; raises `ImageError`."""
    why = cannot_build(engine)
    if why:
        raise ImageError(why)
    try:
        java, jars = find_java().executable.resolve(), find_jars()
    except (JavaNotFoundError, ZooKeeperError) as error:
        raise ImageError(str(error)) from error
    with TemporaryDirectory(prefix="fencepost-image-") as folder:
        archive = Path(folder) / "root.tar"
        with tarfile.open(archive, "w", dereference=True) as tar:
            fill(tar, java, jars)
        with client_of(engine) as client:
            client.api.import_image_from_file(
                str(archive), repository=name, tag="latest", changes=[_start(java)]
            )
            try:
                client.images.get(name)
            except import_module("docker.errors").ImageNotFound as error:
                raise ImageError(f"the engine at {engine} did not take it") from error
    return name


def cannot_build(engine: str) -> str:
    """What is missing, as one sentence; empty when nothing is."""
    if shutil.which("ldd") is None:
        return "ldd is not on the PATH; install it first"
    return "" if answers(engine) else f"no container engine answers at {engine}"


def fill(tar: tarfile.TarFile, java: Path, jars: Sequence[Path]) -> None:
    """Add Java and the libraries at their own paths, and the jars in a folder of their own."""
    home = java.parents[1]
    files = list(_files(home))
    for file in files:
        tar.add(file, _inside(file))
    libraries = set(libraries_of([java, *(file for file in files if file.suffix == ".so")]))
    near = {library.parent for library in libraries}
    libraries |= {folder / one for folder in near for one in LOOKED_UP if (folder / one).exists()}
    for library in sorted(libraries):
        if not library.is_relative_to(home):
            tar.add(library, _inside(library))
    for jar in jars:
        tar.add(jar, _inside(Path(JARS) / jar.name))
    for folder, mode in (("tmp", 0o1777), ("conf", 0o755), ("data", 0o755)):
        entry = tarfile.TarInfo(folder)
        entry.type, entry.mode = tarfile.DIRTYPE, mode
        tar.addfile(entry)


def libraries_of(files: Sequence[Path]) -> Iterator[Path]:
    """The shared libraries that the loader loads with any of the files."""
    done = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, check=False)
    for found in _LIBRARY.finditer(done.stdout):
        yield Path(found[1])


def _files(home: Path) -> Iterator[Path]:
    """The files of a Java that a server needs; links are followed, and broken ones left out."""
    for folder, folders, names in os.walk(home, followlinks=True):
        folders[:] = sorted(set(folders) - UNUSED)
        for name in sorted(set(names) - UNUSED):
            if not name.startswith(OF_SCREENS) and (Path(folder) / name).exists():
                yield Path(folder) / name


def _inside(path: Path) -> str:
    return str(path).lstrip("/")


def _start(java: Path) -> str:
    class_path = ["-cp", f"{JARS}/*"]
    return "CMD " + json.dumps(
        [str(java), *JAVA_OPTIONS, *class_path, MEMBER_CLASS, "/conf/zoo.cfg"]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
