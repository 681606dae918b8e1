"""How long four users wait: `python -m fencepost.ci.bench.users [NAME ...]`, without a name all.

Each begins with an empty home and a clean clone of what is committed here, and goes as the
documents say: a newcomer to the first lab, a developer from the wheel to the first chaos test, an
implementer from a skeleton to a green probe and the doctor's word, a pipeline by the steps of the
kit to a red build with a reason: of an edited core, and of an adapter by the command of the kit's
example. Packages are fetched as on a new machine, by the pip of that home, with an empty cache.
A step that ends otherwise than it should ends the bench with exit code 1; no time does.
"""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fencepost.ci.bench.measured import Measured, measure_all, show_measured
from fencepost.ci.screens.console import complain, note
from fencepost.spec.scratch import scratch_folder

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "ci" / "kit" / "github" / "action.yaml"
PYTEST_PAGE = ROOT / "docs" / "pytest.md"
RULE = Path("impl/core/rules/replication.py")
RIGHT, WRONG = "min([replica.log_end_offset, *ends])", "max([replica.log_end_offset, *ends])"
"""What the first hour of the documents edits: a record is committed as soon as one has it."""
TARGETS_S = {"newcomer": 300.0, "developer": 180.0, "implementer": 900.0, "pipeline": 300.0}
STEP_S = 1800.0
ADAPTER = "'cmd:python3 my-adapter/adapter.py'"
FIRST_TEST = "test_another_leader_serves_while_one_sleeps"
OF_THIS_ENVIRONMENT = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "FENCEPOST_", "XDG_", "GITHUB_")
EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")


class StepError(Exception):
    """A step ended otherwise than it should; the message says how."""


@dataclass(slots=True, kw_only=True)
class Desk:
    """A user's folder: an empty home, a clone, and how long each step took."""

    folder: Path
    path: list[str] = field(default_factory=list)
    """Before what is on the machine's path."""
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def checkout(self) -> Path:
        """Where the clone is."""
        return self.folder / "fencepost"

    def step(
        self, name: str, line: str, *, expected: int = 0, more: Mapping[str, str] | None = None
    ) -> str:
        """Run a line of shell in the folder; what it printed. Raises `StepError`."""
        note(f"{name}: {line.strip().splitlines()[0]}")
        begun = time.perf_counter()
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", line],
            cwd=self.folder,
            env={**self.environment(), **(more or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=STEP_S,
            check=False,
        )
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begun
        if done.returncode != expected:
            end = "\n".join(done.stdout.splitlines()[-20:])
            raise StepError(f"{name} ended with {done.returncode}, not {expected}:\n{end}")
        return done.stdout

    def untimed(self, line: str) -> None:
        """What is there before the user begins."""
        self.step("before", line)
        del self.seconds["before"]

    def environment(self) -> dict[str, str]:
        """That of the machine, without what this Python's environment has put into it."""
        kept = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(OF_THIS_ENVIRONMENT)
        }
        own = str(Path(sys.executable).parent)
        places = [place for place in kept["PATH"].split(os.pathsep) if place != own]
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return {**kept, "HOME": str(home), "PATH": os.pathsep.join([*self.path, *places])}

    def clone(self) -> str:
        """The line that makes the clone."""
        return f"git clone --quiet {shlex.quote(str(ROOT))} fencepost"

    def wheel(self) -> None:
        """A wheel of the clone, as `make wheel` leaves it."""
        build = shlex.join([sys.executable, "-m", "hatchling", "build", "-t", "wheel"])
        self.untimed(f"cd fencepost && {build} -d ../wheels")

    def measured(self, user: str, what: str) -> Measured:
        """The line of the table; the steps are its parts."""
        parts = ", ".join(f"{name} {taken:.1f} s" for name, taken in self.seconds.items())
        total = sum(self.seconds.values())
        return Measured(what=user, size=what, figure=total, target=TARGETS_S[user], parts=parts)


@contextmanager
def desk() -> Iterator[Desk]:
    """A new one, which is removed."""
    with scratch_folder("users") as folder:
        yield Desk(folder=folder)


def newcomer() -> Iterator[Measured]:
    """Clone, set-up, first lab."""
    with desk() as one:
        one.step("clone", one.clone())
        one.step("set-up", "make -C fencepost --silent setup")
        one.step("lab", "fencepost/.venv/bin/fencepost lab kip-101 --no-wait")
        yield one.measured("newcomer", "clone to first lab")


def developer() -> Iterator[Measured]:
    """The wheel in another project, its first chaos test."""
    with desk() as one:
        one.untimed(one.clone())
        one.wheel()
        (one.folder / "test_example.py").write_text(example())
        one.step("install", "python3 -m venv .venv && .venv/bin/pip install -q wheels/*.whl pytest")
        one.step("test", f".venv/bin/python -m pytest -q test_example.py -k {FIRST_TEST}")
        yield one.measured("developer", "wheel to first chaos test")


def implementer() -> Iterator[Measured]:
    """The wheel, a skeleton, a probe that finds nothing amiss."""
    with desk() as one:
        one.untimed(one.clone())
        one.wheel()
        one.step("install", "python3 -m venv .venv && .venv/bin/pip install -q wheels/*.whl")
        one.path.append(str(one.folder / ".venv" / "bin"))
        probe(one)
        told = one.step("doctor", f"fencepost doctor --target {ADAPTER}", expected=3)
        if "cluster_create" not in told:
            raise StepError(f"the doctor names no verb that is to come next:\n{told}")
        yield one.measured("implementer", "skeleton to green probe and doctor")


def probe(one: Desk) -> None:
    """Make a skeleton and probe it, with the `fencepost` on the path."""
    one.step("skeleton", "fencepost conform new-adapter --lang python my-adapter")
    one.step("probe", f"fencepost conform probe --target {ADAPTER}")


def pipeline() -> Iterator[Measured]:
    """The kit's steps on an edited core: the build is red, and JUnit tells why."""
    with desk() as one:
        one.untimed(one.clone())
        edit(one.checkout)
        one.wheel()
        act(one, "simulate --seeds 10")
        require_reason(one, "<failure")
        yield one.measured("pipeline", "kit to red build, edited core")
    with desk() as one:
        one.untimed(one.clone())
        one.wheel()
        half_an_adapter(one)
        act(one, command_of_the_example(), 3)
        require_reason(one, "the adapter does not support cluster_create")
        yield one.measured("pipeline", "kit to red build, the example's command")


def half_an_adapter(one: Desk) -> None:
    """`./my-adapter` is the skeleton, which supports what every adapter must as yet in part."""
    fencepost = shlex.quote(str(Path(sys.executable).with_name("fencepost")))
    one.untimed(f"{fencepost} conform new-adapter --lang python skeleton")
    script = one.folder / "my-adapter"
    script.write_text("#!/bin/sh\nexec python3 skeleton/adapter.py\n")
    script.chmod(0o755)


def command_of_the_example() -> str:
    """What the workflow of the kit has the action run on an implementation."""
    jobs = yaml.safe_load((ACTION.parent / "workflow.yaml").read_text())["jobs"]
    (command,) = (
        step["with"]["command"]
        for job in jobs.values()
        for step in job["steps"]
        if "--target" in step.get("with", {}).get("command", "")
    )
    return str(command)


def example() -> str:
    """The tests that the page on pytest shows."""
    found = re.search(r"```python\n(import pytest.*?)```", PYTEST_PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def edit(checkout: Path) -> None:
    """The core of a checkout commits too early."""
    text = (checkout / RULE).read_text()
    assert text.count(RIGHT) == 1
    (checkout / RULE).write_text(text.replace(RIGHT, WRONG))


def act(one: Desk, command: str, code: int = 1) -> None:
    """Execute the action's steps of shell; the last of them fails with the command's code."""
    action: dict[str, Any] = yaml.safe_load(ACTION.read_text())
    (wheel,) = (one.folder / "wheels").iterdir()
    given = {name: str(told.get("default", "")) for name, told in action["inputs"].items()}
    given |= {"package": str(wheel), "command": command}
    values = {f"inputs.{name}": text for name, text in given.items()}
    files = {name: one.folder / name.lower() for name in ("GITHUB_PATH", "GITHUB_OUTPUT")}
    one.path.append(str(one.folder / "python"))
    one.untimed("mkdir python && ln -s $(command -v python3) python/python")
    for step in (step for step in action["runs"]["steps"] if "run" in step):
        env = {
            name: EXPRESSION.sub(lambda found: values[found[1]], text)
            for name, text in step.get("env", {}).items()
        }
        more = {**env, **{name: str(path) for name, path in files.items()}}
        more["RUNNER_TEMP"] = str(one.folder)
        one.step(step["name"], step["run"], expected=code * (step["name"] == "verdict"), more=more)
        one.path[:0] = lines_of(files["GITHUB_PATH"])
        for line in lines_of(files["GITHUB_OUTPUT"]):
            name, _, text = line.partition("=")
            values[f"steps.{step.get('id')}.outputs.{name}"] = text


def require_reason(one: Desk, reason: str) -> None:
    """Raise `StepError` unless the files of the red build tell it."""
    if reason not in (one.folder / "fencepost-run" / "junit.xml").read_text():
        raise StepError(f"the build is red, and junit.xml does not tell the reason: {reason}")


def lines_of(path: Path) -> list[str]:
    """What a step has handed on; it is read once."""
    if not path.exists():
        return []
    lines = path.read_text().splitlines()
    path.unlink()
    return lines


BENCHES = {
    "newcomer": newcomer,
    "developer": developer,
    "implementer": implementer,
    "pipeline": pipeline,
}


def main(names: list[str]) -> int:
    """Print the table; 1 when a step did not end as it should."""
    try:
        show_measured("users", list(measure_all(names, BENCHES)))
    except StepError as error:
        complain(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
