"""The files of `ci/kit` do what they say: their steps run here as shell, with a wheel of this tree.

pip sees no index, and the wheel's dependencies are those of this environment.
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
KIT = ROOT / "ci" / "kit"
STEP_S = 180
EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")
LOSES = "chaos --story truncation_loss --level 0 --seed 0"
"""Level 0 loses a record: the build is red, with a reason."""


@dataclass(slots=True, kw_only=True)
class Job:
    """A job on a build server: a folder, and what its steps hand on."""

    folder: Path
    wheel: Path
    values: dict[str, str]
    """What the server puts in the place of expressions."""
    path: list[str] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)

    def file(self, name: str) -> Path:
        path = self.folder / f".{name}"
        path.touch()
        return path

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        inherited = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        places = [*self.path, str(Path(sys.executable).parent), inherited["PATH"]]
        return {
            **inherited,
            "PATH": os.pathsep.join(places),
            "PIP_NO_INDEX": "1",
            "PIP_NO_DEPS": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_PATH": str(self.file("path")),
            "GITHUB_OUTPUT": str(self.file("output")),
            "GITHUB_STEP_SUMMARY": str(self.file("summary")),
            **more,
        }

    def shell(self, text: str, more: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
            cwd=self.folder,
            env=self.environment(more),
            capture_output=True,
            text=True,
            timeout=STEP_S,
            check=False,
        )

    def filled(self, text: str) -> str:
        return EXPRESSION.sub(lambda found: self.values[found[1]], text)

    def step(self, step: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        """Run one step, and take what it hands on to the next ones."""
        given = {name: self.filled(text) for name, text in step.get("env", {}).items()}
        done = self.shell(self.filled(step["run"]), given)
        self.codes[step["name"]] = done.returncode
        self.path = self.file("path").read_text().split() + self.path
        for line in self.file("output").read_text().splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step.get('id')}.outputs.{name}"] = value
        self.see_dependencies()
        return done

    def see_dependencies(self) -> None:
        """What the wheel needs is seen in each venv, as packages only."""
        for packages in self.folder.glob("*fencepost*/lib/*/site-packages"):
            (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")


def action() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((KIT / "github" / "action.yaml").read_text())
    return loaded


def job(folder: Path, wheel: Path, **inputs: str) -> Job:
    declared = action()["inputs"]
    assert set(inputs) <= set(declared)
    given = {name: str(one["default"]) for name, one in declared.items() if "default" in one}
    given |= {"package": str(wheel), **inputs}
    return Job(
        folder=folder,
        wheel=wheel,
        values={f"inputs.{name}": value for name, value in given.items()},
    )


def played(one: Job) -> Iterator[subprocess.CompletedProcess[str]]:
    """The steps of the action that are shell, in order; after a failure only those for always."""
    for step in action()["runs"]["steps"]:
        has_failed = any(one.codes.values())
        if "run" in step and (not has_failed or step.get("if") == "always()"):
            yield one.step(step)


@pytest.mark.long
@pytest.mark.zookeeper
def test_a_violation_makes_the_action_red_with_a_reason(tmp_path: Path, wheel: Path) -> None:
    one = job(tmp_path, wheel, command=LOSES)

    told = [done.stdout + done.stderr for done in played(one)]

    assert one.codes == {"install": 0, "run": 0, "verdict": 1}, told
    assert one.values["steps.run.outputs.exit-code"] == "1"
    summary = one.file("summary").read_text()
    assert "## ❌ Fencepost chaos: FAIL" in summary
    assert "fencepost chaos --story truncation_loss --seed 0 --level 0" in summary
    run = tmp_path / "fencepost-run"
    root = ET.parse(run / "junit.xml").getroot()  # noqa: S314 - we wrote it
    assert (root.get("tests"), root.get("failures")) == ("1", "1")
    badge = json.loads((run / "badge.json").read_text())
    assert badge["message"] == "chaos FAIL, level 0"
    assert "chaos FAIL" in (run / "badge.svg").read_text()


@pytest.mark.long
def test_a_command_that_is_none_fails_the_action_with_its_code(tmp_path: Path, wheel: Path) -> None:
    one = job(tmp_path, wheel, command="gate --tier enormous")

    told = [done.stdout + done.stderr for done in played(one)]

    assert one.codes["verdict"] == 4, told


@pytest.mark.long
def test_an_install_that_fails_is_incomplete_and_never_green(tmp_path: Path, wheel: Path) -> None:
    one = job(tmp_path, wheel, package=str(tmp_path / "none.whl"))
    one.values["steps.run.outputs.exit-code"] = ""

    list(played(one))

    assert one.codes["install"] != 0
    assert "run" not in one.codes
    assert one.codes["verdict"] == 3


def commands_of_workflow() -> list[str]:
    jobs = yaml.safe_load((KIT / "github" / "workflow.yaml").read_text())["jobs"]
    steps = [step for one in jobs.values() for step in one["steps"] if "with" in step]
    return [step["with"]["command"] for step in steps if "command" in step["with"]]


def commands_of_gitlab() -> list[str]:
    jobs = yaml.safe_load((KIT / "gitlab" / "gitlab-ci.yaml").read_text())
    return [line for one in jobs.values() for line in one.get("script", ())]


def shell_of_jenkins() -> list[str]:
    text = (KIT / "jenkins" / "Jenkinsfile").read_text()
    return [dedent(block) for block in re.findall(r"'''\n(.*?)'''", text, re.DOTALL)]


FAKE = """#!/bin/sh
printf '%s\\n' "$@" > called
mkdir -p fencepost-run
exit 2
"""


def called(folder: Path, text: str, more: Mapping[str, str]) -> list[str]:
    """The words with which a line calls `fencepost`, expanded by the shell."""
    fake = folder / "bin" / "fencepost"
    fake.parent.mkdir(exist_ok=True)
    fake.write_text(FAKE)
    fake.chmod(0o755)
    environment = {**os.environ, "PATH": f"{fake.parent}{os.pathsep}{os.environ['PATH']}", **more}
    subprocess.run(["bash", "-ec", text], cwd=folder, env=environment, check=False, timeout=STEP_S)
    return (folder / "called").read_text().splitlines()


def refused(words: list[str], folder: Path) -> str:
    """What the real command says of these words when a folder that they name is not empty."""
    taken = folder / "taken"
    taken.mkdir(exist_ok=True)
    (taken / "file").touch()
    words = [
        str(taken) if before == "--out" else word
        for before, word in zip(["", *words], words, strict=False)
    ]
    done = subprocess.run(
        [sys.executable, "-m", "fencepost.ci", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=STEP_S,
    )
    assert done.returncode in (3, 4)
    return done.stderr


@pytest.mark.long
@pytest.mark.parametrize("line", [*commands_of_workflow(), *commands_of_gitlab()])
def test_every_command_of_the_examples_is_one_that_fencepost_understands(
    line: str, tmp_path: Path
) -> None:
    (tmp_path / "shares" / "one").mkdir(parents=True)
    (tmp_path / "my-adapter").write_text("#!/bin/sh\n")
    (tmp_path / "my-adapter").chmod(0o755)
    text = line.replace("${{ matrix.share }}", "2")
    text = text if text.startswith("fencepost ") else f"fencepost {text} --out fencepost-run"

    words = called(tmp_path, text, {"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "4"})

    told = refused(words, tmp_path)
    assert re.search(
        r"is not empty; name a new folder|holds no session\.json|adapter .* ended|no such folder",
        told,
    ), told


@pytest.mark.long
def test_the_shell_of_the_jenkinsfile_installs_and_calls(tmp_path: Path, wheel: Path) -> None:
    install, gate = shell_of_jenkins()
    one = job(tmp_path, wheel)

    done = one.shell(install, {"PACKAGE": str(wheel)})
    assert done.returncode == 0, done.stderr
    one.see_dependencies()
    script = tmp_path / ".fencepost-venv" / "bin" / "fencepost"
    assert "gate --target 'cmd:./my-adapter'" in gate
    done = one.shell(gate, {})

    assert done.returncode == 4, done.stderr
    assert "my-adapter" in done.stderr
    assert script.exists()


@pytest.mark.long
def test_the_steps_of_the_dockerfile_make_a_fencepost_that_runs(
    tmp_path: Path, wheel: Path
) -> None:
    text = (KIT / "Dockerfile").read_text().replace("\\\n", " ")
    (run,) = re.findall(r"^RUN (.*)$", text, re.MULTILINE)
    (wheels := tmp_path / "wheels").mkdir()
    (wheels / wheel.name).write_bytes(wheel.read_bytes())
    without_user = run.partition("&& useradd")[0]
    here = without_user.replace("/opt/", f"{tmp_path}/").replace("/wheels", str(wheels))
    one = job(tmp_path, wheel)

    done = one.shell(here, {})

    assert done.returncode == 0, done.stderr
    assert not wheels.exists()
    one.see_dependencies()
    version = one.shell(f"{tmp_path}/fencepost/bin/fencepost --version", {})
    assert version.stdout.startswith("fencepost "), version.stderr


WHEEL = re.compile(r"wheels/fencepost-([\w.]+)-py3-none-any\.whl")


def packages() -> list[str]:
    """What the examples hand to pip."""
    of_jenkins = re.findall(r"PACKAGE = '(.*)'", (KIT / "jenkins" / "Jenkinsfile").read_text())
    return [workflow()["env"]["PACKAGE"], gitlab()["variables"]["PACKAGE"], *of_jenkins]


def test_no_example_installs_a_bare_name_that_a_stranger_could_take() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    found = [WHEEL.fullmatch(package) for package in packages()]

    assert [one and one[1] for one in found] == [version] * 3
    assert action()["inputs"]["package"] == {
        "description": f"The wheel that pip installs, for example {packages()[0]}; no index has it",
        "required": True,
    }


def test_pip_installs_the_wheel_and_nothing_else() -> None:
    texts = [path.read_text() for path in KIT.rglob("*") if path.is_file()]
    lines = [line for text in texts for line in text.splitlines() if "pip install " in line]
    wheel = re.compile(r"pip install( --[\w-]+)* (\"\$PACKAGE\"|/wheels/\*\.whl)['\\ ]*")

    assert len(lines) == 4
    assert [line for line in lines if not wheel.search(line)] == []


def workflow() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((KIT / "github" / "workflow.yaml").read_text())
    return loaded


def gitlab() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((KIT / "gitlab" / "gitlab-ci.yaml").read_text())
    return loaded


ACTION = "./.github/actions/fencepost"
RESERVED = ("variables", "stages", "default", "workflow", "include")
"""Keys of GitLab's file that are no jobs."""


def undeclared(flow: Mapping[str, Any], inputs: Mapping[str, Any]) -> list[str]:
    """What a workflow gives an action that has no such input, or does not give and must."""
    steps = [step for one in flow["jobs"].values() for step in one["steps"]]
    given = [set(step.get("with", {})) for step in steps if step.get("uses") == ACTION]
    needed = {name for name, about in inputs.items() if about.get("required")}
    return sorted({name for keys in given for name in (keys - set(inputs)) | (needed - keys)})


def of_no_job(flow: Mapping[str, Any]) -> list[str]:
    """What a job of a workflow needs that is none."""
    jobs: Mapping[str, Any] = flow["jobs"]
    needs = [one.get("needs", []) for one in jobs.values()]
    names = {name for some in needs for name in ([some] if isinstance(some, str) else some)}
    return sorted(names - set(jobs))


def unresolved(jobs: Mapping[str, Any]) -> list[str]:
    """What a job of GitLab extends or needs that is none; a job to be extended is not run."""
    jobs = {name: one for name, one in jobs.items() if name not in RESERVED}
    run = {name for name in jobs if not name.startswith(".")}
    lost = {one["extends"] for one in jobs.values() if "extends" in one} - set(jobs)
    return sorted(lost | ({name for one in jobs.values() for name in one.get("needs", ())} - run))


def test_what_the_examples_name_is_there() -> None:
    assert undeclared(workflow(), action()["inputs"]) == []
    assert of_no_job(workflow()) == []
    assert unresolved(gitlab()) == []


def test_shares_that_failed_are_merged_and_each_case_is_shown_once() -> None:
    jobs = gitlab()

    assert jobs["whole"]["when"] == "always"
    assert workflow()["jobs"]["whole"]["if"].startswith("always() ")
    shown = [name for name, job in jobs.items() if "reports" in job.get("artifacts", {})]
    assert shown == ["target", "whole"]


def test_the_action_reads_what_it_declares() -> None:
    text = (KIT / "github" / "action.yaml").read_text()
    steps = {step["id"] for step in action()["runs"]["steps"] if "id" in step}

    assert set(re.findall(r"\{\{ inputs\.([\w-]+)", text)) == set(action()["inputs"])
    assert set(re.findall(r"\{\{ steps\.([\w-]+)", text)) == steps


def test_a_name_that_is_not_there_is_seen() -> None:
    flow, inputs, jobs = workflow(), action()["inputs"], gitlab()
    flow["jobs"]["whole"]["steps"][-1]["with"] = {"comand": "gate"}
    flow["jobs"]["whole"]["needs"] = ["shares"]
    jobs["target"]["extends"] = ".fence"
    jobs["whole"]["needs"] = [".fencepost"]

    assert undeclared(flow, inputs) == ["comand", "package"]
    assert of_no_job(flow) == ["shares"]
    assert unresolved(jobs) == [".fence", ".fencepost"]


def test_the_kit_names_no_registry_and_its_documents_are_read_by_yaml() -> None:
    for path in sorted(KIT.rglob("*")):
        if path.is_file():
            assert not re.search(r"://|--(extra-)?index-url", path.read_text()), path
    assert set(commands_of_workflow()) >= {"merge shares/*"}
