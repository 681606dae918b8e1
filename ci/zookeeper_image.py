"""Builds an image of ZooKeeper from Debian packages, where none can be pulled.

`python -m ci.zookeeper_image [NAME]` needs root, debootstrap and a container engine; the packages
come from where this machine's apt gets its own, which takes a minute, or more than that is waited
for where the network is slow. The image runs what `/conf/zoo.cfg` configures;
`FENCEPOST_ZOOKEEPER_IMAGE=NAME` makes the chaos runs use it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

NAME = "fencepost-zookeeper"
TOOLS = ("debootstrap", "tar", "docker")
PACKAGES = ("zookeeper", "default-jre-headless")
CLASS_PATH = "/etc/zookeeper/conf/environment"
MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
START = f'. {CLASS_PATH}; exec java $JVMFLAGS -cp "$CLASSPATH" {MAIN_CLASS} /conf/zoo.cfg'
SOURCES = (Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d"))
RELEASE = Path("/etc/os-release")
LIMIT_S = 240.0
"""All of it may take so long."""
ALONE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
"""So that nothing of a build that was ended runs on, and nothing is left mounted."""
EXIT_FAILED = 3
EXIT_USAGE = 4

_MIRROR = re.compile(r"^(?:deb(?:\s+\[[^\]]*\])?|URIs:)\s+(https?://\S+)", re.MULTILINE)
_SUITE = re.compile(r"^VERSION_CODENAME=(\w+)$", re.MULTILINE)


class ImageError(Exception):
    """The image was not built; one sentence says why."""


def main(arguments: Sequence[str]) -> int:
    """Build the image; returns the exit code."""
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        sys.stderr.write("usage: python -m ci.zookeeper_image [NAME]\n")
        return EXIT_USAGE
    try:
        name = build(next(iter(arguments), NAME))
    except ImageError as error:
        sys.stderr.write(f"zookeeper_image: {error}\n")
        return EXIT_FAILED
    print(f"{name} is there; use it with FENCEPOST_ZOOKEEPER_IMAGE={name}")
    return 0


def build(name: str) -> str:
    """The image is known to the engine under `name`; raises `ImageError`."""
    why = cannot_build()
    if why:
        raise ImageError(why)
    with TemporaryDirectory(prefix="fencepost-image-") as folder:
        root, deadline = Path(folder) / "root", time.monotonic() + LIMIT_S
        include = f"--include={','.join(PACKAGES)}"
        packages = ("debootstrap", "--variant=minbase", include, suite(), str(root), mirror())
        _run(deadline, *ALONE, *packages)
        for waste in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man"):
            shutil.rmtree(root / waste, ignore_errors=True)
        archive = Path(folder) / "root.tar"
        _run(deadline, "tar", "--create", "--file", str(archive), "--directory", str(root), ".")
        _run(deadline, "docker", "import", "--change", _start(), str(archive), name)
    return name


def cannot_build() -> str:
    """What is missing, as one sentence; empty when nothing is."""
    if os.geteuid() != 0:
        return "only root can build an image from Debian packages"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"{missing[0]} is not on the PATH; install it first"
    return "" if mirror() and suite() else "this machine's apt names no Debian archive"


def mirror() -> str:
    """The first archive that apt uses; empty when there is none."""
    listed, folder = SOURCES
    files = [listed, *sorted(folder.glob("*.sources")), *sorted(folder.glob("*.list"))]
    texts = [path.read_text(encoding="utf-8") for path in files if path.is_file()]
    found = [match[1] for text in texts for match in _MIRROR.finditer(text)]
    return found[0] if found else ""


def suite() -> str:
    """The Debian release that this machine runs; empty for none."""
    found = _SUITE.search(RELEASE.read_text(encoding="utf-8")) if RELEASE.is_file() else None
    return found[1] if found else ""


def _start() -> str:
    return "CMD " + json.dumps(["sh", "-c", START])


def _run(deadline: float, *command: str) -> None:
    tool = next(word for word in command if word in TOOLS)
    left_s = max(0.0, deadline - time.monotonic())
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=left_s)
    except subprocess.TimeoutExpired as error:
        raise ImageError(f"{tool} did not end within {LIMIT_S:g} s of the build") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise ImageError(f"{tool} failed: {said[-1] if said else 'it said nothing'}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
