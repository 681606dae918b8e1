"""The gate with every direct dependency at its lower bound, which a user's project may hold it to.

Run `make lowest`. It makes an environment of its own, which it removes; the exit code is the
gate's, or 3 when nothing could be installed.
"""

import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)>=(?P<lower>[\d.]+)(,.*)?")


def lower_bounds(requirements: Iterable[str]) -> list[str]:
    """`name==lower` of each `name>=lower`; raises `SystemExit` for one without a lower bound."""
    found = []
    for requirement in requirements:
        told = REQUIREMENT.fullmatch(requirement)
        if told is None:
            raise SystemExit(f"pyproject.toml: {requirement} has no lower bound; give one with >=")
        found.append(f"{told['name']}=={told['lower']}")
    return found


def direct_dependencies() -> list[str]:
    """Those of the wheel, as `pyproject.toml` names them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return list(project["dependencies"])


def main(arguments: list[str]) -> int:
    """Install, tell the versions, and run the gate with these arguments."""
    pinned = lower_bounds(direct_dependencies())
    with TemporaryDirectory(prefix="fencepost-lowest-") as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder, "bin", "python"))
        print(f"lowest: installing {', '.join(pinned)}", flush=True)
        install = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        if subprocess.call([*install, *pinned, str(ROOT)]):
            print("lowest: nothing was run; the lines above say why", file=sys.stderr)
            return 3
        gate = [python, "-m", "fencepost.ci", "gate", "--out", str(Path(folder, "run"))]
        return subprocess.call([*gate, *arguments], cwd=folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
