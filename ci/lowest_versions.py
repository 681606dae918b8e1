"""The gate with every direct dependency at one end of what the wheel allows.

`make lowest`: at its lower bound, which a user's project may hold it to. `make newest`, with
`--newest`: whatever pip takes today. The extras are installed too, and what they bring is imported
before. Each makes an environment of its own, which it removes; the exit code is the gate's, 1 when
an extra is not imported, or 3 when nothing could be installed. Other arguments are the gate's.
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
NEWEST = "--newest"
EXIT_BROKEN = 1
EXIT_INCOMPLETE = 3
MODULES = {
    "connect": ("pyspark.sql.connect.session", "fencepost.reports.spark.connect"),
    "containers": ("docker", "testcontainers.core.container", "testcontainers.core.network"),
    "kafka": (
        "confluent_kafka",
        "fencepost.conformance.adapters.kafka.librdkafka",
        "fencepost.conformance.adapters.kafka.wire",
    ),
}
"""Extra of the wheel -> modules that need what it brings."""
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
    """Those of the wheel and of its extras, as `pyproject.toml` names them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(text for name in MODULES for text in extras[name])]


def broken_extras(python: str, extras: Iterable[str]) -> list[str]:
    """Those with modules that `python` does not import; what it says of each goes to stderr."""
    return [
        extra
        for extra in extras
        if subprocess.call([python, "-c", f"import {', '.join(MODULES[extra])}"])
    ]


def wanted(*, newest: bool) -> list[str]:
    """What pip is to install: the wheel of this tree with all extras, or at its lower bounds."""
    wheel = f"{ROOT}[{','.join(MODULES)}]"
    return [wheel] if newest else [*lower_bounds(direct_dependencies()), wheel]


def main(arguments: list[str]) -> int:
    """Install, import what extras bring, and run the gate with the other arguments."""
    is_newest = NEWEST in arguments
    name = "newest" if is_newest else "lowest"
    packages = wanted(newest=is_newest)
    with TemporaryDirectory(prefix=f"fencepost-{name}-") as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder, "bin", "python"))
        print(f"{name}: installing {', '.join(packages)}", flush=True)
        pip = [python, "-m", "pip", "--disable-pip-version-check"]
        if subprocess.call([*pip, "--quiet", "install", *packages]):
            print(f"{name}: nothing was run; the lines above say why", file=sys.stderr)
            return EXIT_INCOMPLETE
        subprocess.call([*pip, "list", "--format=freeze"])
        if broken := broken_extras(python, MODULES):
            print(f"{name}: not imported: {', '.join(broken)}", file=sys.stderr)
            return EXIT_BROKEN
        gate = [python, "-m", "fencepost.ci", "gate", "--out", str(Path(folder, "run"))]
        rest = [argument for argument in arguments if argument != NEWEST]
        return subprocess.call([*gate, *rest], cwd=folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
